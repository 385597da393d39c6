public import LiveActivity

public enum PushState: String, Sendable, Hashable, CaseIterable {
    case scheduled, queued, sending, done, failed, superseded, expired, cancelled
    public var isFinal: Bool {
        switch self {
        case .scheduled, .queued, .sending: false
        case .done, .failed, .superseded, .expired, .cancelled: true
        }
    }
}

/// The request that sends a push to its name's broadcast channel, besides the requests to tokens. It is no target of
/// the ledger.
public struct PushBroadcast: Sendable, Hashable {
    public enum State: String, Sendable, Hashable, CaseIterable {
        case waiting, delivered, failed, superseded, expired, cancelled
    }

    public var state: State
    /// The broadcast channel of the last attempt. `status` and `reason` are of that attempt too.
    public var channel: BroadcastChannelID?
    /// APNs's status; nil = no answer.
    public var status: Int?
    public var reason: String?
    public var attempts = 0
}

/// The ledger of one push: `targets = delivered + pruned + failed + superseded + expired + skipped + pending`.
public struct Ledger: Sendable, Hashable {
    public var id: PushID
    public var name: ActivityName
    public var event: ActivityEvent
    public var priority: PushPriority
    public var state: PushState
    public var expanded = false
    public var targets = 0
    public var delivered = 0
    public var pruned = 0
    public var failed = 0
    public var superseded = 0
    public var expired = 0
    public var skipped = 0
    public var retries = 0
    public var duplicatesPossible = 0
    /// Targets that got the push at priority 5 although 10 was asked for, because the budget was used up.
    public var demoted = 0
    /// Targets that began to follow after the sweep and got the state as late joiners.
    public var late = 0
    /// For a start: delivered targets whose start token was last reported long ago. APNs answers 200 for them, but
    /// possibly no card began.
    public var stale = 0
    public var supersededBy: PushID?
    /// Epoch milliseconds.
    public var createdAt: Int64
    public var finishedAt: Int64?
    /// Answers other than 200, by reason. A token with several attempts may be counted under several reasons.
    public var errors: [String: Int] = [:]

    /// The push ends cards that started long ago. No publisher asked for it.
    public var isAutomatic = false

    /// Nil if the push went to tokens alone.
    public var broadcast: PushBroadcast?

    public var pending: Int { targets - delivered - pruned - failed - superseded - expired - skipped }
}
