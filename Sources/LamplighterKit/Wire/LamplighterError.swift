import Foundation
#if canImport(os)
    import os
#endif

/// A problem for the developer. The user can do nothing about it.
public struct LamplighterError: Error, Hashable, Sendable, CustomStringConvertible {
    public enum Kind: Hashable, Sendable {
        /// The gateway refuses a report for good, so it was dropped: the app or its settings are wrong.
        case refused
        /// The gateway or the app's backend does not answer, or asks to wait. The kit goes on trying. Told once, until
        /// it works again.
        case delayed
        /// The outbox cannot be written, so reports are in memory alone. Told once, until it works again.
        case storage
        /// Too many reports wait, so the oldest was dropped.
        case full
    }

    public let kind: Kind
    public let description: String

    /// Writes the problem to the device's log, with the subsystem `LamplighterKit`.
    public static let log: @Sendable (LamplighterError) -> Void = { problem in
        #if canImport(os)
            Logger(subsystem: "LamplighterKit", category: "reports").error("\(problem.description, privacy: .public)")
        #else
            NSLog("LamplighterKit: " + "\(problem)".replacingOccurrences(of: "%", with: "%%"))
        #endif
    }
}
