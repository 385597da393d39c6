/// The result of one request to a webhook.
public struct WebhookResult: Sendable, Hashable {
    public enum Verdict: Sendable, Hashable {
        /// 2xx: the webhook has taken the events.
        case accepted
        /// The webhook does not take these events: an event, their number or their size may be the reason.
        case refused
        /// The webhook takes nothing now, or did not answer.
        case failed
    }

    /// The HTTP status of the answer. Nil: there was no answer.
    public let status: Int?
    /// The beginning of the answer's body, or why there was no answer. On one line.
    public let text: String
    /// The pause in seconds that the webhook asks for; nil: it asks for none.
    public let retryAfter: Int?
    private static let mostText = 300

    public init(status: Int, body: [UInt8] = [], retryAfter: Int? = nil) {
        self.retryAfter = retryAfter
        (self.status, text) = (status, Self.line(String(decoding: body.prefix(Self.mostText), as: UTF8.self)))
    }

    public init(failure: String) { (status, text, retryAfter) = (nil, Self.line(failure), nil) }

    public var verdict: Verdict {
        switch status ?? 0 {
        case 200..<300: .accepted
        case 400, 413, 415, 422: .refused
        default: .failed
        }
    }

    /// For operators, without the body, which is the receiver's own.
    public var reason: String {
        guard let status else { return text }
        return (300..<400).contains(status) ? "HTTP \(status): redirects are not followed" : "HTTP \(status)"
    }

    /// The text comes from outside, so it must not move a terminal's cursor or begin a line of a log.
    private static func line(_ text: String) -> String {
        let scalars = text.unicodeScalars.map { scalar -> Unicode.Scalar in
            scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) ? " " : scalar
        }
        return String(String.UnicodeScalarView(scalars))
    }
}
