import Answers
import LiveActivity
import Store

extension Handlers {
    func listDead(_ call: Call) async throws -> Answer {
        let limit = try call.limit()
        let after = try call.query["after"] == nil ? nil : call.id("after", in: call.query)
        let letters = try await store.deadLetters.list(call.app.key, after: after, limit: limit)
        let total = try await store.deadLetters.count(call.app.key)
        let next = letters.count == limit ? letters.last?.push.description : nil
        return Answer(200, DeadLettersAnswer(total: total, dead: letters.map(\.answer), next: next))
    }

    func deadLetter(_ call: Call) async throws -> Answer {
        let id = try call.id("push_id")
        guard let letter = try await store.deadLetters.letter(call.app.key, id) else { throw APIError.noDeadLetter }
        return Answer(200, letter.answer)
    }

    func retryDead(_ call: Call) async throws -> Answer {
        switch try await store.deadLetters.retry(call.app.key, call.id("push_id")) {
        case .taken(let tokens, let isResumed):
            return Answer(200, RetriedAnswer(retried: tokens, resumed: isResumed)).about([:], count: tokens)
        case .none: throw APIError.noDeadLetter
        case .newer(let newer):
            let sent = "A newer push\(newer.map { " (\($0))" } ?? "") went out under this name"
            throw APIError(409, "\(sent), so this one cannot be sent again. Publish the current state.")
        case .expired: throw APIError(409, "The push has expired. Publish the current state.")
        case .notFinished:
            throw APIError(409, "The push was cancelled or is still being sent. Its ledger tells which.")
        }
    }

    func dropDead(_ call: Call) async throws -> Answer {
        guard try await store.deadLetters.drop(call.app.key, call.id("push_id")) else { throw APIError.noDeadLetter }
        return .empty
    }
}

extension DeadLetter {
    fileprivate var answer: DeadLetterAnswer {
        DeadLetterAnswer(
            pushID: push.description, name: name.rawValue, at: TimeText.text(at), stopped: stopped, tokens: tokens,
            kept: kept, notKept: notKept, reasons: reasons)
    }
}
