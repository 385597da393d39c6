import LiveActivity
import Store
import StrictJSON

extension Handlers {
    func listDead(_ call: Call) async throws -> Answer {
        let limit = try call.limit()
        let after = try call.query["after"] == nil ? nil : call.id("after", in: call.query)
        let letters = try await store.deadLetters.list(call.app.key, after: after, limit: limit)
        let total = try await store.deadLetters.count(call.app.key)
        let body: JSON = ["ok": true, "total": .integer(total), "dead": .array(letters.map(\.json))]
        return Answer(page: body, isFull: letters.count == limit, last: letters.last?.push.description)
    }

    func deadLetter(_ call: Call) async throws -> Answer {
        let id = try call.id("push_id")
        guard let letter = try await store.deadLetters.letter(call.app.key, id) else { throw APIError.noDeadLetter }
        return Answer(200, letter.json)
    }

    func retryDead(_ call: Call) async throws -> Answer {
        switch try await store.deadLetters.retry(call.app.key, call.id("push_id")) {
        case .taken(let tokens, let isResumed):
            return Answer(200, ["ok": true, "retried": .integer(tokens), "resumed": .bool(isResumed)]).about(
                [:], count: tokens)
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
    fileprivate var json: JSON {
        [
            "push_id": .string(push.description), "name": .string(name.rawValue), "at": .string(TimeText.text(at)),
            "stopped": stopped.map { .string($0) } ?? .null, "tokens": .integer(tokens), "kept": .integer(kept),
            "not_kept": .integer(notKept), "reasons": .counts(reasons),
        ]
    }
}
