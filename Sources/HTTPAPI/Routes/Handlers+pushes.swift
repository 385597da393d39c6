import LiveActivity
import Store
import StrictJSON

extension Handlers {
    func pushLedger(_ call: Call) async throws -> Answer {
        guard let ledger = try await self.ledger(call.app.key, call.id("push_id")) else { throw APIError.noSuchPush }
        return Answer(200, ledger.json)
    }

    /// What was sent, and whom it was for.
    func pushContent(_ call: Call) async throws -> Answer {
        let id = try call.id("push_id")
        guard let content = try await store.pushes.content(call.app.key, id) else { throw APIError.noSuchPush }
        let body: JSON = [
            "push_id": .string(id.description), "audience": content.audience.json,
            "payload_bytes": .integer(content.payload.count), "payload": .raw(content.payload),
        ]
        return Answer(200, body)
    }

    /// Cancels what is not yet sent. The ledger in the response tells how much was sent before.
    func cancelPush(_ call: Call) async throws -> Answer {
        let id = try call.id("push_id")
        guard let ledger = try await cancel(call.app.key, id, now: call.now) else { throw APIError.noSuchPush }
        return Answer(200, ledger.json)
    }
}

extension Ledger {
    var json: JSON {
        .fields([
            "push_id": .string(id.description), "name": .string(name.rawValue), "event": .string(event.rawValue),
            "priority": .integer(priority.rawValue), "state": .string(state.rawValue), "expanded": .bool(expanded),
            "targets": .integer(targets), "delivered": .integer(delivered), "pruned": .integer(pruned),
            "failed": .integer(failed), "superseded": .integer(superseded), "expired": .integer(expired),
            "skipped": .integer(skipped), "pending": .integer(pending), "retries": .integer(retries),
            "duplicates_possible": .integer(duplicatesPossible), "demoted": .integer(demoted), "late": .integer(late),
            "stale": event == .start ? .integer(stale) : nil, "automatic": isAutomatic ? true : nil,
            "broadcast": broadcast?.json, "superseded_by": supersededBy.map { .string($0.description) },
            "created_at": .string(TimeText.text(createdAt)),
            "finished_at": finishedAt.map { .string(TimeText.text($0)) } ?? JSON.null, "errors": .counts(errors),
            "shown": receipts[.shown].map(JSON.integer), "ended": receipts[.ended].map(JSON.integer),
            "dismissed": receipts[.dismissed].map(JSON.integer),
        ])
    }
}

extension PushBroadcast {
    fileprivate var json: JSON {
        .fields([
            "channel": channel.map { .string($0.rawValue) } ?? JSON.null, "state": .string(state.rawValue),
            "status": status.map { .integer($0) } ?? JSON.null, "attempts": .integer(attempts),
            "reason": reason.map(JSON.string),
        ])
    }
}
