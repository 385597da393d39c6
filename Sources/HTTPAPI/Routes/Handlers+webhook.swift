import LiveActivity
import Store
import StrictJSON

/// Calls about the app's webhook: how it does, and the events that it did not take.
extension Handlers {
    func webhook(_ call: Call) async throws -> Answer {
        let app = call.app.key
        let status = try await store.webhooks.status(app)
        let failing: JSON? = status.failure.map { failure in
            [
                "since": .string(TimeText.text(failure.since)), "attempts": .integer(failure.attempts),
                "reason": .string(failure.reason), "next_attempt_at": .string(TimeText.text(failure.next)),
            ]
        }
        let body: JSON = [
            "ok": true, "events": .array(store.events.ofWebhook(app).map { .string($0.rawValue) }),
            "waiting": .integer(status.waiting), "dead": .integer(status.dead), "dropped": .integer(status.dropped),
            "failing": failing ?? .null,
        ]
        return Answer(200, body)
    }

    func listDeadEvents(_ call: Call) async throws -> Answer {
        let limit = try call.limit()
        let after = call.query["after"]
        if let after, !StoredEvent.isEntry(after) {
            throw APIError.parameter("after", "must be the `next` of an earlier page")
        }
        let dead = try await store.webhooks.dead(call.app.key, after: after, limit: limit)
        let body: JSON = ["ok": true, "dead": .array(dead.map(\.json))]
        return Answer(page: body, isFull: dead.count == limit, last: dead.last?.event.entry)
    }

    /// Body: `{"entry"?}`. Without it, all.
    func retryDeadEvents(_ call: Call) async throws -> Answer {
        let entry = try Self.deadEntry(call)
        let retried = try await store.webhooks.retry(call.app.key, entry)
        guard retried > 0 || entry == nil else { throw APIError.noDeadEvent }
        return Answer(200, ["ok": true, "retried": .integer(retried)]).about([.entry: entry], count: retried)
    }

    func discardDeadEvents(_ call: Call) async throws -> Answer {
        let entry = try Self.deadEntry(call)
        let discarded = try await store.webhooks.discard(call.app.key, entry)
        guard discarded > 0 || entry == nil else { throw APIError.noDeadEvent }
        return Answer(200, ["ok": true, "discarded": .integer(discarded)]).about([.entry: entry], count: discarded)
    }

    private static func deadEntry(_ call: Call) throws(JSONError) -> String? {
        guard let value = try call.object(known: ["entry"])?["entry"] else { return nil }
        let text = try value.string()
        guard StoredEvent.isEntry(text) else {
            throw value.error("must be the `entry` of a dead event, such as 1795284000184-0")
        }
        return text
    }
}

extension DeadEvent {
    fileprivate var json: JSON {
        [
            "entry": .string(event.entry), "reason": .string(reason), "added_at": .string(TimeText.text(addedAt)),
            "event": .raw(Array(event.text.utf8)),
        ]
    }
}
