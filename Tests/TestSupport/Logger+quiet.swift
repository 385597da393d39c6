public import Logging

extension Logger {
    /// Logs nothing.
    public static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
}
