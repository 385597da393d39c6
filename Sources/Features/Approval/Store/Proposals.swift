public import LiveActivity
import Redis
public import StoreGround
import StoreDeliveries

extension Store {
    public var proposals: Proposals { Proposals(redis: redis, keys: keys, replicas: schedules.replicas) }
}

/// The proposals of apps. A gateway approves in two steps: it writes the decision, and then it publishes under the ids
/// that the proposal has had from the start. If the process dies in between, the proposal is `approved` and stands
/// first in the list of open ones. A repetition of the call, or a look of any gateway (`due`), publishes it under the
/// same ids then, which makes the same pushes.
public struct Proposals: Sendable {
    /// The most waiting proposals of an app, and the most finished ones in its list. A list is read as a whole, so that
    /// a credential for some names sees whole pages and the right number.
    package static let most = 1_000
    /// A gateway that has decided publishes within this time (ms). Later another one does.
    package static let patience: Int64 = 10_000

    let redis: RedisClient
    let keys: Keyspace
    let replicas: ReplicaWait?

    public enum Kept: Sendable, Hashable {
        case new
        /// The publish was proposed before, with the same id.
        case known(Proposal)
        /// Too many wait.
        case full
    }

    /// Keeps a proposal. Repeatable: one that exists already stays as it is.
    /// - Throws: `unreplicated` as `Pushes.accept` does.
    public func keep(_ app: AppKey, _ proposal: Proposal) async throws(StoreError) -> Kept {
        switch try await write(app, proposal, over: "") {
        case 1:
            try await confirm(app, proposal)
            return .new
        case 0:
            guard let found = try await find(app, proposal.id) else { return .full }
            if found.state == .waiting { try await confirm(app, found) }
            return .known(found)
        default: return .full
        }
    }

    /// Puts another body into a proposal that waits, under a fresh request.
    /// - Parameter seen: the request that the editor has seen
    /// - Returns: false if it waits no more, or somebody else edited it.
    public func edit(_ app: AppKey, _ proposal: Proposal, over seen: String) async throws(StoreError) -> Bool {
        guard try await write(app, proposal, over: seen) == 1 else { return false }
        try await confirm(app, proposal)
        return true
    }

    private func write(_ app: AppKey, _ proposal: Proposal, over seen: String) async throws(StoreError) -> Int {
        try await redis.run(
            Lua.proposalWrite,
            keys: ["at": keys.proposal(app, proposal.id), "open": keys.openProposals(app)],
            [
                "id": .bytes(proposal.id.uuid.bytes), "seen": .string(seen), "now": .int(proposal.askedAt),
                "lapses": .int(proposal.lapses), "expiresAt": .int(proposal.lapses + keys.retention),
                "most": .int(Self.most),
            ], rest: proposal.fields
        ).integer()
    }

    private func confirm(_ app: AppKey, _ proposal: Proposal) async throws(StoreError) {
        let life = proposal.lapses - proposal.askedAt + keys.retention
        try await replicas?.confirm(push: keys.proposal(app, proposal.id), life: life)
    }

    public func find(_ app: AppKey, _ id: PushID) async throws(StoreError) -> Proposal? {
        try await find(app, [id])[0]
    }

    private func find(_ app: AppKey, _ ids: [PushID]) async throws(StoreError) -> [Proposal?] {
        if ids.isEmpty { return [] }
        let replies = try await redis.run(ids.map { RedisCommand("HGETALL", keys.proposal(app, $0)) })
        return try zip(ids, replies).map { id, reply throws(StoreError) in
            let fields = try StoredHash(reply)
            return fields.isEmpty ? nil : try Proposal(id: id, fields)
        }
    }

    /// Approves or rejects a proposal. Repeatable: the same person gets the same answer again. An approved proposal has
    /// yet to be published.
    /// - Parameters:
    ///   - request: the request that the person has seen. Nil: the present one.
    ///   - reason: why it is rejected, for the person who asked
    ///   - after: the condition of an approval in place of the proposal's own. Nil: its own.
    public func decide(
        _ app: AppKey, _ found: Proposal, approves: Bool, request: String?, reason: String? = nil,
        after: AfterPush? = nil, by person: Proposal.Person, now: Int64
    ) async throws(StoreError) -> ProposalResult {
        func answer(_ found: Proposal, _ objection: ProposalResult) -> ProposalResult {
            let states: [Proposal.State] = approves ? [.approved, .published, .failed] : [.rejected]
            let isRepeated =
                found.decision?.by.identity == person.identity && states.contains(found.state)
                && (request == nil || request == found.request)
            return isRepeated ? .decided(found) : objection
        }
        if let objection = found.objection(to: person, request: request, now: now) { return answer(found, objection) }
        var decided = found
        decided.decision = Proposal.Decision(by: person, at: now, after: after)
        decided.state = approves ? .approved : .rejected
        if !approves { (decided.reason, decided.endedAt) = (reason, now) }
        // No replica is asked: the publish that follows an approval asks them, and is the same if it is repeated.
        if try await settle(app, decided, from: found, now: now) { return .decided(decided) }
        // Somebody was faster: a second person, an edit, or a gateway at the lapse.
        guard let standing = try await find(app, found.id) else { return .settled(found) }
        return answer(standing, standing.objection(to: person, request: request, now: now) ?? .changed)
    }

    /// Writes the outcome of a proposal.
    /// - Parameter tells: whether the person who asked has to hear of it
    /// - Returns: false if another process was faster.
    public func settle(
        _ app: AppKey, _ proposal: Proposal, from found: Proposal, tells: Bool = true, now: Int64
    ) async throws(StoreError) -> Bool {
        try await redis.run(
            Lua.proposalSettle,
            keys: [
                "at": keys.proposal(app, proposal.id), "open": keys.openProposals(app),
                "over": keys.overProposals(app), "unread": keys.unreadProposals(app, of: found.asker.identity),
            ],
            [
                "id": .bytes(proposal.id.uuid.bytes), "from": .string(found.state.rawValue),
                "seen": .string(found.request), "to": .string(proposal.state.rawValue), "now": .int(now),
                "kept": .int(keys.retention), "most": .int(Self.most), "tells": .int(tells ? 1 : 0),
            ], rest: proposal.outcome
        ).isOne()
    }

    /// The proposals that nobody decided about in time, and the approved ones whose publish is not finished.
    public func due(_ app: AppKey, now: Int64) async throws(StoreError) -> [Proposal] {
        let list = keys.openProposals(app)
        let members = try await redis.run("ZRANGEBYSCORE", list, "-inf", .int(now), "LIMIT", "0", "100").byteStrings()
        let ids = members.compactMap { UUIDBytes(bytes: $0).map(PushID.init) }
        let found = try await find(app, ids)
        // Their records have expired, because no gateway ran for days.
        let gone = zip(ids, found).filter { $0.1 == nil }.map { RedisArgument.bytes($0.0.uuid.bytes) }
        if !gone.isEmpty { try await redis.run("ZREM", list, gone) }
        return found.compactMap(\.self).filter { proposal in
            proposal.state == .waiting || (proposal.decision?.at ?? 0) + Self.patience <= now
        }
    }
}

/// The lists.
extension Proposals {
    private struct Entry {
        var id: PushID
        var score: Int64

        var position: String { "\(score)-\(id)" }

        init(id: PushID, score: Int64) { (self.id, self.score) = (id, score) }

        /// Reads the `next` of a page. Nil: the text is none.
        init?(position: String) {
            guard let dash = position.firstIndex(of: "-"), let score = Int64(position[..<dash]),
                let id = PushID(position[position.index(after: dash)...])
            else { return nil }
            self.init(id: id, score: score)
        }

        /// Whether it stands behind another one in a list by rising times.
        func isBehind(_ other: Entry) -> Bool { (score, id.description) > (other.score, other.id.description) }
    }

    /// Whether it is a `next` of a page.
    public static func isPosition(_ text: String) -> Bool { Entry(position: text) != nil }

    /// How many proposals wait.
    /// - Parameter prefix: of names that begin so; nil: of all
    public func count(_ app: AppKey, namesFrom prefix: String? = nil, now: Int64) async throws(StoreError) -> Int {
        let list = keys.openProposals(app)
        guard prefix != nil else { return try await redis.run("ZCOUNT", list, .int(now), "+inf").integer() }
        return try await own(app, entries(app, isOver: false, now: now), prefix).count { $0.score > 0 }
    }

    /// Lists the proposals that wait: first the approved ones whose publish is not finished, then the others, the first
    /// to lapse first. Or lists the finished proposals, the latest first.
    /// - Parameters:
    ///   - prefix: of names that all begin so; nil: of all
    ///   - position: the `next` of an earlier page
    public func list(
        _ app: AppKey, isOver: Bool, namesFrom prefix: String? = nil, after position: String? = nil, limit: Int,
        now: Int64
    ) async throws(StoreError) -> (proposals: [Proposal], total: Int, next: String?) {
        let all = try await own(app, entries(app, isOver: isOver, now: now), prefix)
        var rest = all[...]
        // The last one of the page before may have gone since.
        if let last = position.flatMap({ Entry(position: $0) }) {
            rest = all.drop { isOver ? !last.isBehind($0) : !$0.isBehind(last) }
        }
        let page = rest.prefix(limit)
        let found = try await find(app, page.map(\.id)).compactMap(\.self)
        return (found, all.count, rest.count > limit ? page.last?.position : nil)
    }

    /// The proposals of one person, waiting and over. The latest outcome is first.
    /// - Parameter prefix: of names that all begin so; nil: of all
    public func list(
        _ app: AppKey, askedBy identity: String, namesFrom prefix: String? = nil, limit: Int, now: Int64
    ) async throws(StoreError) -> (proposals: [Proposal], total: Int) {
        let all = try await entries(app, isOver: false, now: now) + entries(app, isOver: true, now: now)
        let replies = try await redis.run(all.map { RedisCommand("HGET", keys.proposal(app, $0.id), "asker") })
        var asked: [Entry] = []
        for (entry, reply) in zip(all, replies) {
            let asker = try reply.optionalBytes().map { String(decoding: $0, as: UTF8.self) }
            if asker == identity { asked.append(entry) }
        }
        let found = try await find(app, own(app, asked, prefix).map(\.id)).compactMap(\.self)
        let sorted = found.sorted { ($0.endedAt ?? $0.askedAt) > ($1.endedAt ?? $1.askedAt) }
        return (Array(sorted.prefix(limit)), sorted.count)
    }

    /// Counts the proposals of a person that are over without the person having read so. And tells when the person read
    /// last (epoch ms; 0: nobody knows).
    public func unread(_ app: AppKey, askedBy identity: String) async throws(StoreError) -> (count: Int, readAt: Int64)
    {
        let key = keys.unreadProposals(app, of: identity)
        let (count, read) = try await redis.run([
            RedisCommand("ZCARD", key), RedisCommand("ZSCORE", key, Self.readMark),
        ]).values(.integer("unread"), .optionalString("read"))
        return (read == nil ? count : count - 1, read.flatMap { Double($0) }.flatMap { Int64(exactly: $0) } ?? 0)
    }

    /// Notes that a person has read the outcome of all proposals that were over at this time.
    public func markRead(_ app: AppKey, askedBy identity: String, now: Int64) async throws(StoreError) {
        let key = keys.unreadProposals(app, of: identity)
        try await redis.run([
            RedisCommand("ZREMRANGEBYSCORE", key, "-inf", .int(now)),
            RedisCommand("ZADD", key, .int(now), Self.readMark),
            RedisCommand("PEXPIRE", key, .int(keys.retention)),
        ])
    }

    /// The member of that list whose score is the time of the last reading.
    private static let readMark: RedisArgument = "read"

    private func entries(_ app: AppKey, isOver: Bool, now: Int64) async throws(StoreError) -> [Entry] {
        let reply =
            isOver
            ? try await redis.run("ZREVRANGE", keys.overProposals(app), "0", "-1", "WITHSCORES")
            : try await redis.run("ZRANGE", keys.openProposals(app), "0", "-1", "WITHSCORES")
        let parts = try reply.byteStrings()
        return stride(from: 0, to: parts.count - 1, by: 2).compactMap { index in
            guard let id = UUIDBytes(bytes: parts[index]).map(PushID.init),
                let score = Double(String(decoding: parts[index + 1], as: UTF8.self)).flatMap({ Int64(exactly: $0) })
            else { return nil }
            // A gateway will soon find the lapsed ones.
            return isOver || score == 0 || score > now ? Entry(id: id, score: score) : nil
        }
    }

    /// The entries whose names all begin so, in the same order.
    private func own(_ app: AppKey, _ entries: [Entry], _ prefix: String?) async throws(StoreError) -> [Entry] {
        guard let prefix, !entries.isEmpty else { return entries }
        let replies = try await redis.run(entries.map { RedisCommand("HGET", keys.proposal(app, $0.id), "names") })
        var own: [Entry] = []
        for (entry, reply) in zip(entries, replies) {
            let names = try reply.optionalBytes().flatMap { Proposal.names($0) }
            if let names, names.allSatisfy({ $0.begins(with: prefix) }) { own.append(entry) }
        }
        return own
    }
}
