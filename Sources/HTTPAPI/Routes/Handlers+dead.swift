import LiveActivity
import Store
import StrictJSON

/// Calls about dead letters.
extension Handlers {
    func listDead(_ call: Call) async throws(APIError) -> Answer {
        let limit = try call.limit()
        let after = try call.query["after"].map { text throws(APIError) in
            guard let id = PushID(text) else { throw .parameter("after", "must be a UUID") }
            return id
        }
        let (letters, total) = try await storing { () throws(StoreError) in
            (
                try await store.deadLetters.list(call.app.key, after: after, limit: limit),
                try await store.deadLetters.count(call.app.key)
            )
        }
        var body: JSON = [
            "ok": true, "total": .integer(total), "dead": .array(letters.map { .object($0.members) }),
        ]
        // A full page may be the last one. The next page is empty then.
        if letters.count == limit, let last = letters.last { body.append("next", .string(last.push.description)) }
        return Answer(200, body)
    }

    func deadLetter(_ call: Call) async throws(APIError) -> Answer {
        let id = try call.pushID()
        let letter = try await storing { () throws(StoreError) in
            try await store.deadLetters.letter(call.app.key, id)
        }
        guard let letter else { throw .noDeadLetter }
        return Answer(200, .object(letter.members))
    }

    func retryDead(_ call: Call) async throws(APIError) -> Answer {
        let id = try call.pushID()
        let retry = try await storing { () throws(StoreError) in
            try await store.deadLetters.retry(call.app.key, id)
        }
        switch retry {
        case .taken(let tokens, let isResumed):
            return Answer(200, ["ok": true, "retried": .integer(tokens), "resumed": .bool(isResumed)])
        case .none: throw .noDeadLetter
        case .newer(let newer):
            throw APIError(
                409,
                "A newer push went out under this name\(newer.map { " (\($0))" } ?? ""), and nothing goes backwards: "
                    + "publish the present state again.")
        case .expired:
            throw APIError(
                409, "The push has expired: nothing of it is sent any more. Publish the present state again.")
        case .notFinished:
            throw APIError(409, "The push was cancelled or is still being sent; see its ledger.")
        }
    }

    func dropDead(_ call: Call) async throws(APIError) -> Answer {
        let id = try call.pushID()
        let isDropped = try await storing { () throws(StoreError) in
            try await store.deadLetters.drop(call.app.key, id)
        }
        guard isDropped else { throw .noDeadLetter }
        return .empty
    }
}

extension Call {
    /// The query parameter `limit` of a list's page.
    func limit() throws(APIError) -> Int {
        guard let text = query["limit"] else { return Handlers.defaultPage }
        guard let number = Int(text), (1...Handlers.maximumPage).contains(number) else {
            throw .parameter("limit", "must be a whole number from 1 to \(Handlers.maximumPage)")
        }
        return number
    }

    func pushID() throws(APIError) -> PushID {
        guard let id = PushID(parameter("push_id")) else { throw .parameter("push_id", "must be a UUID") }
        return id
    }
}

extension APIError {
    static let noDeadLetter = APIError(404, "There is no dead letter of that push.", code: 40401)
}

extension DeadLetter {
    fileprivate var members: [JSON.Member] {
        let counts = reasons.sorted { $0.key < $1.key }.map { JSON.Member($0.key, .integer($0.value)) }
        return [
            JSON.Member("push_id", .string(push.description)), JSON.Member("name", .string(name.rawValue)),
            JSON.Member("at", .string(TimeText.text(at))), JSON.Member("stopped", stopped.map { .string($0) } ?? .null),
            JSON.Member("tokens", .integer(tokens)), JSON.Member("kept", .integer(kept)),
            JSON.Member("not_kept", .integer(notKept)),
            JSON.Member("reasons", .object(counts)),
        ]
    }
}
