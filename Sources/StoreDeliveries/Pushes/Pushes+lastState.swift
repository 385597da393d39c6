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
                if fields.isEmpty { continue }
                let record = try PushRecord(id: id, fields)
                guard !record.isAutomatic, !record.isStateless, record.stands else { continue }
                let ledger = try Ledger(id: id, name: name, fields)
                return LastState(ledger: ledger, audience: record.audience, payload: record.payload)
            }
            guard ids.count == step else { return nil }
            last = ids.last
        }
        return nil
    }
}

extension PushState {
    /// The one rule for which push's state cards show, or will show. `shared-standing.lua` has it for scripts. A push
    /// that was stopped or expired before it reached a card or the broadcast channel does not stand. One that is done
    /// without targets does: it is what later cards catch up with.
    func stands(delivered: Int, expired: Int, broadcast: PushBroadcast.State?) -> Bool {
        if !isFinal || delivered > 0 || broadcast == .delivered { return true }
        return self == .done && expired == 0 && broadcast != .expired
    }
}
