public import LiveActivity
import Redis
public import StoreGround

/// The newest content state of a name, and the push that brought it.
public struct LastState: Sendable, Hashable {
    public var ledger: Ledger
    public var audience: Audience
    /// As it went to APNs.
    public var payload: [UInt8]
}

extension Pushes {
    /// How many pushes are read at once, from the newest on. Nearly always the first one has a content state.
    private static let stateSteps = [1, 9, 90]

    /// The newest push of a name that has a content state, and that a card shows or will show. Nil: none of the last
    /// hundred has one.
    public func lastState(_ app: AppKey, _ name: ActivityName) async throws(StoreError) -> LastState? {
        let tag = keys.tag(app, name)
        var last: PushID?
        for step in Self.stateSteps {
            let ids = try await chain(app, name, before: last, limit: step)
            for (id, fields) in zip(ids, try await redis.pushFields(keys, ids.map { (tag, $0) })) {
                // `bare`: an end without a content state.
                guard !fields.isEmpty, fields.text("bare") != "1" else { continue }
                let record = try PushRecord(id: id, fields)
                let ledger = try Ledger(id: id, name: name, fields)
                guard !record.isAutomatic, ledger.mayShow else { continue }
                return LastState(ledger: ledger, audience: record.audience, payload: record.payload)
            }
            guard ids.count == step else { return nil }
            last = ids.last
        }
        return nil
    }
}

extension Ledger {
    /// False for a push that ended before it reached anybody. A push without targets is what later cards catch up with.
    fileprivate var mayShow: Bool {
        !state.isFinal || state == .done || delivered > 0 || broadcast?.state == .delivered
    }
}
