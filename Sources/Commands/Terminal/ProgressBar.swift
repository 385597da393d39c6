import Glibc

/// One line on stderr that is drawn again in place. Draws nothing if stderr is no terminal. For one thread at a time.
struct ProgressBar: Sendable {
    private static let width = 28
    private let isShown = Terminal.standardErrorIsTerminal
    private var lastDrawn: ContinuousClock.Instant?

    /// Draws at most ten times a second, unless `isLast`. `share` is 0 to 1, or nil if the total is not known yet.
    mutating func draw(_ share: Double?, _ text: String, isLast: Bool = false) {
        guard isShown else { return }
        let now = ContinuousClock.now
        if let lastDrawn, now - lastDrawn < .milliseconds(100), !isLast { return }
        lastDrawn = now
        let filled = Int((min(max(share ?? 0, 0), 1) * Double(Self.width)).rounded(.down))
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: Self.width - filled)
        let percent = share.map { "\(Int(($0 * 100).rounded(.down)))" } ?? ""
        let padded = String(repeating: " ", count: max(0, 3 - percent.count)) + percent
        Terminal.put("\r\(bar) \(padded)\(share == nil ? " " : "%")  \(text)\u{1B}[K", to: STDERR_FILENO)
        if isLast { Terminal.put("\n", to: STDERR_FILENO) }
    }

    /// Ends an unfinished line, so that a message can follow.
    mutating func abandon() { if isShown, lastDrawn != nil { Terminal.put("\n", to: STDERR_FILENO) } }
}
