import LiveActivity
import Store
import StrictJSON

extension Handlers {
    func pushLedger(_ call: Call) async throws -> Answer {
        let id = try call.id("push_id")
        guard let ledger = try await self.ledger(call.app.key, id) else { throw APIError.noSuchPush }
        return Answer(200, ledger.json)
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
        var body: JSON = [
            "push_id": .string(id.description), "name": .string(name.rawValue), "event": .string(event.rawValue),
            "priority": .integer(priority.rawValue), "state": .string(state.rawValue), "expanded": .bool(expanded),
            "targets": .integer(targets), "delivered": .integer(delivered), "pruned": .integer(pruned),
            "failed": .integer(failed), "superseded": .integer(superseded), "expired": .integer(expired),
            "skipped": .integer(skipped), "pending": .integer(pending), "retries": .integer(retries),
            "duplicates_possible": .integer(duplicatesPossible), "demoted": .integer(demoted), "late": .integer(late),
        ]
        if event == .start { body.append("stale", .integer(stale)) }
        if isAutomatic { body.append("automatic", true) }
        if let broadcast { body.append("broadcast", broadcast.json) }
        if let supersededBy { body.append("superseded_by", .string(supersededBy.description)) }
        body.append("created_at", .string(TimeText.text(createdAt)))
        body.append("finished_at", finishedAt.map { .string(TimeText.text($0)) } ?? .null)
        let reasons = errors.sorted { $0.key < $1.key }
        body.append("errors", .object(reasons.map { JSON.Member($0.key, .integer($0.value)) }))
        return body
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
