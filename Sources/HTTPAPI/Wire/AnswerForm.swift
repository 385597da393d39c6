import Answers

/// The body of an answer with success.
struct AnswerForm: Sendable {
    let status: Int
    /// Nil: it has no body, or one that no type describes.
    let body: (any AnswerBody.Type)?

    static func status(_ status: Int, _ body: any AnswerBody.Type) -> AnswerForm {
        AnswerForm(status: status, body: body)
    }

    static func ok(_ body: any AnswerBody.Type) -> AnswerForm { status(200, body) }

    static let empty = AnswerForm(status: 204, body: nil)

    /// A body that others wrote, or that is no JSON. `calls.json` describes it.
    static let raw = AnswerForm(status: 200, body: nil)
}
