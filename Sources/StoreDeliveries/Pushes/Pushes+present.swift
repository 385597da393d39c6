public import LiveActivity
import Redis
public import StoreGround

/// A push of a name, with whom it was for.
public struct PresentPush: Sendable, Hashable {
    public var ledger: Ledger
    public var audience: Audience
    /// As it went to the platforms that it is for.
    public var content: PushContent
    public var payload: [UInt8] { content.payload }

    fileprivate init(_ record: PushRecord, _ name: ActivityName, _ fields: StoredHash) throws(StoreError) {
        ledger = try Ledger(id: record.id, name: name, fields)
        audience = record.audience
        content = PushContent(payload: record.payload, contents: record.contents)
    }
}

/// The pushes that the cards of a name show or will show.
public struct NamePresent: Sendable, Hashable {
    /// The newest push that counts: it stands, and is neither a test nor an automatic end. `AfterPush` names it.
    public var newest: PresentPush?
    /// The newest of these with a content state.
    public var state: PresentPush?
}

extension Pushes {
    /// How many pushes are read at once, from the newest on. Nearly always the first one counts and has a state.
    private static let presentSteps = [1, 9, 90]

    /// The newest push of a name that counts, and the newest content state. Nil for each that is not among the last
    /// hundred. `shared-accept-condition.lua` has the same rule for scripts.
    public func present(_ app: AppKey, _ name: ActivityName) async throws(StoreError) -> NamePresent {
        let tag = keys.tag(app, name)
        var present = NamePresent()
        var last: PushID?
        for step in Self.presentSteps {
            let ids = try await chain(app, name, before: last, limit: step)
            for (id, fields) in zip(ids, try await redis.pushFields(keys, ids.map { (tag, $0) })) {
                if fields.isEmpty { continue }
                let record = try PushRecord(id: id, fields)
                guard record.stands, !record.isAutomatic, !record.isTest else { continue }
                let push = try PresentPush(record, name, fields)
                present.newest = present.newest ?? push
                guard !record.isStateless else { continue }
                present.state = push
                return present
            }
            guard ids.count == step else { break }
            last = ids.last
        }
        return present
    }

    /// A push and whom it was for. Nil: its record is gone.
    public func push(_ app: AppKey, _ name: ActivityName, _ id: PushID) async throws(StoreError) -> PresentPush? {
        let fields = try await redis.pushFields(keys, [(keys.tag(app, name), id)])[0]
        if fields.isEmpty { return nil }
        return try PresentPush(PushRecord(id: id, fields), name, fields)
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
