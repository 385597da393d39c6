public import LiveActivity

/// A publish that waits for its time.
public struct Schedule: Sendable, Hashable {
    public enum State: String, Sendable, Hashable, CaseIterable {
        case scheduled
        /// A worker has claimed it, because its time has come.
        case taken
        /// Its push is committed. The push's ledger has the outcome.
        case sent
        /// The schedule was refused at its time. `reason` says why.
        case failed
        case cancelled

        /// Whether it may be changed and cancelled.
        var isWaiting: Bool { self == .scheduled }
        /// Whether nothing happens to it any more.
        var isOver: Bool { !isWaiting && self != .taken }
        /// Whether its push will never go out.
        public var isRefused: Bool { [.failed, .cancelled].contains(self) }
    }

    /// The id of the schedule and of its push, so that a commit that is repeated after a crash is the same push.
    public var id: PushID
    public var publish: Publish
    /// The payload as rendered for the due time. The commit inserts the timestamp.
    public var payload: [UInt8]
    public var timestampOffset: Int
    /// Epoch milliseconds.
    public var due: Int64
    public var createdAt: Int64
    /// The creator's name for it.
    public var label: String?
    /// The push object as it was posted, for the API's answers.
    public var posted: [UInt8]
    public var state = State.scheduled
    /// Why it failed, or why it is tried again.
    public var reason: String?
    public var finishedAt: Int64?

    public init(
        id: PushID, publish: Publish, payload: [UInt8], timestampOffset: Int, due: Int64, createdAt: Int64,
        label: String? = nil, posted: [UInt8] = []
    ) {
        self.id = id
        self.publish = publish
        self.payload = payload
        self.timestampOffset = timestampOffset
        self.due = due
        self.createdAt = createdAt
        self.label = label
        self.posted = posted
    }

    /// The ledger of its push before the commit; nil after it.
    public var ledger: Ledger? {
        let states: [State: PushState] = [
            .scheduled: .scheduled, .taken: .scheduled, .failed: .failed, .cancelled: .cancelled,
        ]
        guard let pushState = states[state] else { return nil }
        var ledger = Ledger(
            id: id, name: publish.name, event: publish.event, priority: publish.priority, state: pushState,
            createdAt: createdAt)
        ledger.expanded = pushState.isFinal
        ledger.finishedAt = finishedAt
        ledger.publisher = publish.publisher
        ledger.isTest = publish.isTest
        if let reason, pushState == .failed { ledger.errors[reason] = 1 }
        return ledger
    }
}

extension OutgoingEvent {
    /// The event that a schedule was refused at its time, so that its push never goes out. Nil: it was not.
    static func refused(_ schedule: Schedule, _ app: AppKey) -> OutgoingEvent? {
        guard schedule.state == .failed, let at = schedule.finishedAt, let ledger = schedule.ledger else { return nil }
        return OutgoingEvent("\(schedule.id).1", .failed, app, at: at, push: ledger.answer)
    }
}
