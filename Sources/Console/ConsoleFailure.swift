import Answers

/// A refusal, as a page shows it.
struct ConsoleFailure: Error {
    var status: Int
    var message: String
    /// The place in the body of the API's call, and the message without it.
    var path: String?
    private(set) var plain: String?
    private(set) var location: ErrorPlaceAnswer?

    init(_ status: Int, _ message: String, path: String? = nil) {
        (self.status, self.message, self.path) = (status, message, path)
    }

    /// The error that the API answered.
    init(_ answer: ConsoleAnswer) {
        let body = try? ErrorAnswer(answer)
        self.init(
            answer.status, body?.error ?? "The gateway answered \(answer.status).", path: body?.details?.path)
        (plain, location, code) = (body?.details?.error, body?.details?.location, body?.code)
    }

    /// The name had a push that the sender did not see.
    var isNewerPush: Bool { code == ErrorAnswer.newerPush }
    private(set) var code: Int?

    /// There is no such thing, or the reader may not have it. Another try gets the same answer.
    var isFinal: Bool { (400..<500).contains(status) && status != 429 }

    static let withoutRedis = ConsoleFailure(503, "Redis does not answer the gateway. Try again in a moment.")

    var title: String {
        switch status {
        case 403: "Not allowed"
        case 404: "Not found"
        case 429: "Too many requests"
        case 503: "Redis does not answer"
        case 500...: "Something went wrong"
        default: "That was refused"
        }
    }
}
