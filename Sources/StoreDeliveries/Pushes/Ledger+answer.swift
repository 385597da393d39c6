public import Answers
import LiveActivity
import StoreGround

extension Ledger {
    /// The ledger as the API answers it and as outgoing events tell it.
    public var answer: LedgerAnswer {
        LedgerAnswer(
            pushID: id.description, name: name.rawValue, event: event.rawValue, priority: priority.rawValue,
            state: state.rawValue, expanded: expanded, targets: targets, delivered: delivered, pruned: pruned,
            failed: failed, superseded: superseded, expired: expired, skipped: skipped, pending: pending,
            retries: retries, duplicatesPossible: duplicatesPossible, demoted: demoted, late: late,
            stale: event == .start ? stale : nil, automatic: isAutomatic ? true : nil, broadcast: broadcast?.answer,
            supersededBy: supersededBy?.description, createdAt: TimeText.text(createdAt),
            finishedAt: finishedAt.map(TimeText.text), errors: errors, shown: receipts[.shown],
            ended: receipts[.ended], dismissed: receipts[.dismissed], by: nil)
    }
}

extension PushBroadcast {
    fileprivate var answer: BroadcastResultAnswer {
        BroadcastResultAnswer(
            channel: channel?.rawValue, state: state.rawValue, status: status, attempts: attempts, reason: reason)
    }
}
