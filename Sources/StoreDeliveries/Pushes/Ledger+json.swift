import LiveActivity
import StoreGround
public import StrictJSON

extension Ledger {
    /// The ledger as the API answers it and as outgoing events tell it.
    public var json: JSON {
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
