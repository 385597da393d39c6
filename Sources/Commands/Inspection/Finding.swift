/// The result of one check, with a remedy.
struct Finding: Sendable, Hashable {
    enum Mark: String, Sendable {
        case good = "✓"
        case warning = "!"
        case bad = "✗"
    }

    var mark: Mark
    /// The subject of the check, such as `Redis` or `APNs key shop`.
    var subject: String
    var text: String
    /// The advice to the operator. Nil if nothing has to be done.
    var remedy: String?
    /// The exit code for this finding. Used only for `bad`.
    var status = ExitStatus.failed

    static func good(_ subject: String, _ text: String) -> Finding {
        Finding(mark: .good, subject: subject, text: text)
    }
    static func warning(_ subject: String, _ text: String, _ remedy: String) -> Finding {
        Finding(mark: .warning, subject: subject, text: text, remedy: remedy)
    }
    static func bad(_ subject: String, _ text: String, _ remedy: String, _ status: ExitStatus) -> Finding {
        Finding(mark: .bad, subject: subject, text: text, remedy: remedy, status: status)
    }
}
