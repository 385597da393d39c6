public import LiveActivity
public import StoreGround
public import StoreRegistry

/// A claimed shard: the push, and how far the shard is settled.
public struct Claim: Sendable {
    public var lease: Lease
    public var record: PushRecord
    /// Everything before this is settled.
    public var position: ScanPosition
    /// Ranges after `position` that are settled too, ascending.
    public var ahead: [Range<ScanPosition>]
    /// Removals may be pending. Apply them before a page is read, so that nothing is sent to a token whose `end` was
    /// delivered. They are of older pushes or of an earlier owner.
    public var hasPendingRemovals: Bool
    public var lapses: Lapses
    /// Another push of the name waits for the end of this sweep. Not told for the only shard of a push.
    public internal(set) var othersWait = false
    /// All tokens of the name as its begin or acceptance read them, if they are few and no channel of the name has a
    /// mark (`Tokens.readByBegin`).
    package let tokens: Reply?
}

/// How many owners of a task in a row crashed or stalled without progress.
public enum Lapses: Sendable {
    case none
    /// The pages that the last owner had in flight are sent again.
    case some
    /// The task is not tried again.
    case tooMany

    init(_ number: Int, most: Int) { self = number > most ? .tooMany : number > 0 ? .some : .none }
}

public enum Begun: Sendable {
    /// No push waits under this name.
    case idle
    /// Its shards are in the stream already.
    case planned
    /// Its shards are finished. Claim the catch-up.
    case catchUp
    /// Put these shards into the stream, then call `markPlanned`.
    case plan(PushRecord, [WorkItem.Part])
    /// Another worker has the lease.
    case held
    /// The update waits this long for the end of the name's interval. It may be superseded until then.
    case paced(Duration)
    case claimed(Claim)
    public var isClaimed: Bool { if case .claimed = self { true } else { false } }
}

public enum ClaimResult: Sendable {
    case gone
    case held(Duration)
    /// The part is finished. An earlier worker may have left this work.
    case done(Leftovers)
    case claimed(Claim)
}

extension Tokens {
    /// All live tokens of the name, as its begin or acceptance read them. This asks Redis nothing. Nil: the name has
    /// more tokens, or channels with marks, so they were not read.
    public func readByBegin(_ claim: Claim) throws(StoreError) -> (page: TokenPage, counts: BlockCounts)? {
        guard let tokens = claim.tokens, !tokens.isNil else { return nil }
        var page = TokenPage(reservingEntries: tokens.count / 2, bytes: tokens.count * 50)
        try collect(tokens, filter: nil, now: clock(), lifetime: .activity, into: &page)
        return (page, BlockCounts())
    }
}
