import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store

/// Tests requests that are open when their page is settled, as the scripts keep them.
@Suite struct OpenRequestTests {
    static let channel = try! ChannelID("phone-1").stored
    static let token: [UInt8] = [0xAA, 0xBB]
    private let far = Duration.seconds(600)

    private let fixture: PushFixture
    private let name = try! ActivityName("match-1")

    init() async throws { fixture = try await PushFixture.start() }

    // MARK: Help

    private func waiting(_ push: PushID, attempts: Int = 0) -> WaitingChannel {
        var page = TokenPage()
        page.append(channel: Self.channel, token: Self.token, registeredAt: 0, attempt: attempts)
        return WaitingChannel(page, 0, of: push)
    }

    private func request(_ push: PushID, _ number: UInt32 = 1, for length: Duration? = nil) -> OpenRequest {
        OpenRequest(OpenRequest.ID(worker: 7, number: number), waiting(push), for: length ?? far)
    }

    /// Settles the whole shard of the claim with one open request.
    @discardableResult
    private func leaveOpen(_ claim: Claim, _ request: OpenRequest) async throws -> Settled {
        var settlement = Settlement(range: claim.lease.bounds)
        settlement.targets = 1
        settlement.leaveOpen(request)
        return try await fixture.settle(claim, settlement)
    }

    private func late(_ request: OpenRequest, _ body: (inout RetrySettlement, WaitingChannel) -> Void) async throws {
        var channel = request.channel
        channel.openID = request.id
        var settlement = RetrySettlement()
        body(&settlement, channel)
        _ = try await fixture.store.sweeps.settleLate(fixture.app, name, settlement)
    }

    private func delivered(_ request: OpenRequest) async throws {
        try await late(request) { $0.finish($1, as: .delivered) }
    }

    /// The pushes that the name's retries would send now.
    private func due() async throws -> [PushID] {
        let lease = try await fixture.claimRetries("match-1")
        let found = try await fixture.due(lease, now: try await fixture.redisTime())
        try await fixture.store.sweeps.giveBack(lease)
        return found.map(\.push)
    }

    private var open: Int {
        get async throws {
            let key = try fixture.key { $0.openRequests }
            return try await fixture.store.redis.send(RedisCommand("HLEN", key)).integer()
        }
    }

    private func isConsistent(_ id: PushID) async throws -> Bool {
        let ledger = try await fixture.ledger(id)
        return ledger.targets
            == ledger.delivered + ledger.pruned + ledger.failed + ledger.superseded + ledger.expired + ledger.skipped
            + ledger.pending
    }

    private func update(_ alert: Bool = false) async throws -> (id: PushID, claim: Claim) {
        let id = try await fixture.accepted("match-1", alert: alert)
        return (id, try await fixture.claimed("match-1", id))
    }

    private func register(_ token: UInt8) async throws {
        _ = try await fixture.store.registry.track(
            fixture.app, .activity(name),
            [
                Registration(
                    channel: try ChannelID("phone-1"), token: try #require(PushToken(bytes: [token, token])),
                    registeredAt: 1_795_000_000_000 + Int64(token))
            ])
    }

    // MARK: The page

    @Test func `the sweep ends, the push waits for the answer, and the name is free`() async throws {
        let (id, claim) = try await update()
        let settled = try await leaveOpen(claim, request(id))
        guard case .ok(let state, isFinished: true, let leftovers) = settled else {
            Issue.record("\(settled)")
            return
        }
        #expect(state == .sending)
        let ledger = try await fixture.ledger(id)
        #expect(ledger.targets == 1 && ledger.pending == 1 && ledger.expanded && ledger.retries == 0)
        let until = try #require(leftovers.firstRetry)
        #expect(until > (try await fixture.redisTime()) + 500_000)
        #expect(try await due() == [], "nothing goes to the channel while its request is open")
        let next = try await update()
        #expect(next.claim.record.id == next.id)
    }

    @Test func `an answer finishes the push and leaves nothing`() async throws {
        let (id, claim) = try await update()
        try await leaveOpen(claim, request(id))
        try await delivered(request(id))
        let ledger = try await fixture.ledger(id)
        #expect(ledger.state == .done && ledger.delivered == 1 && ledger.duplicatesPossible == 0)
        #expect(try await fixture.leftKeys("match-1").isEmpty)
    }

    @Test func `a settlement and an answer that are repeated change nothing`() async throws {
        let (id, claim) = try await update()
        for _ in 0..<2 { try await leaveOpen(claim, request(id)) }
        #expect(try await open == 1)
        for _ in 0..<3 { try await delivered(request(id)) }
        #expect(try await fixture.ledger(id).delivered == 1)
    }

    @Test func `an answer under another id changes nothing`() async throws {
        let (id, claim) = try await update()
        try await leaveOpen(claim, request(id, 1))
        try await delivered(request(id, 2))
        #expect(try await fixture.ledger(id).pending == 1)
        #expect(try await open == 1)
    }

    @Test func `a request that had no answer is tried again`() async throws {
        let (id, claim) = try await update()
        try await leaveOpen(claim, request(id))
        let time = try await fixture.redisTime()
        try await late(request(id)) {
            $0.postpone($1, due: time - 1, attempts: 1, reason: "Timeout", mayBeDuplicate: true)
        }
        #expect(try await due() == [id])
        let ledger = try await fixture.ledger(id)
        #expect(ledger.retries == 1 && ledger.duplicatesPossible == 1 && ledger.errors == ["Timeout": 1])
    }

    @Test func `an end that is delivered late removes the token first`() async throws {
        try await register(1)
        let id = try await fixture.accepted("match-1", event: .end)
        try await leaveOpen(try await fixture.claimed("match-1", id), request(id))
        for _ in 0..<2 {
            try await late(request(id)) {
                $0.remove($1, TokenRemoval(channel: Self.channel, token: [1, 1], endedAt: 1_795_000_000_500))
            }
        }
        #expect(try await fixture.pendingRemovals("match-1").count == 1)
        #expect(try await fixture.ledger(id).pending == 1)
    }

    // MARK: Newer pushes

    @Test func `a newer update waits, and goes out with the answer`() async throws {
        let (old, claim) = try await update()
        try await leaveOpen(claim, request(old))
        let (new, next) = try await update()
        try await fixture.joinQueues(next, [Self.channel])
        #expect(try await due() == [])
        try await delivered(request(old))
        #expect(try await due() == [new])
        let ledger = try await fixture.ledger(old)
        #expect(ledger.delivered == 1 && ledger.superseded == 0, "it arrived after all")
        let isBalanced = [try await isConsistent(old), try await isConsistent(new)]
        #expect(isBalanced == [true, true])
    }

    @Test func `a superseded request that failed gives its pause to the newer one`() async throws {
        let (old, claim) = try await update()
        try await leaveOpen(claim, request(old))
        let (new, next) = try await update()
        try await fixture.joinQueues(next, [Self.channel])
        let time = try await fixture.redisTime()
        try await late(request(old)) {
            $0.postpone($1, due: time + 300_000, attempts: 1, reason: "TooManyRequests", mayBeDuplicate: false)
        }
        #expect(try await due() == [])
        #expect(try await fixture.firstRetry("match-1") == time + 300_000)
        #expect(try await fixture.ledger(old).retries == 1)
        #expect(try await fixture.ledger(new).pending == 1)
    }

    /// The request of the newer update is open when that one is cancelled: only the answer tells what the card shows.
    @Test(arguments: [false, true])
    func `the answer to the newer update's request decides about the one before it`(arrives: Bool) async throws {
        let (old, claim) = try await update()
        try await fixture.retry(claim, [Self.channel], due: 5_000)
        let (new, next) = try await update()
        try await fixture.joinQueues(next, [Self.channel])
        let lease = try await fixture.claimRetries("match-1")
        let waiting = try #require(try await fixture.due(lease).first)
        let open = OpenRequest(OpenRequest.ID(worker: 1, number: 1), waiting, for: far)
        try await fixture.settle(lease) { $0.leaveOpen(open) }
        try await fixture.store.sweeps.giveBack(lease)
        _ = try await fixture.store.pushes.cancel(fixture.app, new)
        #expect(try await due() == [])
        for _ in 0..<2 {
            try await late(open) { $0.finish($1, as: arrives ? .delivered : .failed, reason: arrives ? "" : "Timeout") }
        }
        let queues = try fixture.key { $0.retryQueues }
        #expect(try await fixture.store.redis.send(RedisCommand("HLEN", queues)).integer() == (arrives ? 0 : 1))
        if !arrives { #expect(try await due() == [old]) }
        let (before, after) = (try await fixture.ledger(old), try await fixture.ledger(new))
        #expect(before.superseded == (arrives ? 1 : 0) && before.pending == (arrives ? 0 : 1))
        #expect(after.delivered == (arrives ? 1 : 0) && after.skipped == (arrives ? 0 : 1))
    }

    @Test func `alerts wait in order`() async throws {
        let (first, claim) = try await update(true)
        try await leaveOpen(claim, request(first))
        let (second, next) = try await update(true)
        try await fixture.joinQueues(next, [Self.channel])
        try await delivered(request(first))
        #expect(try await due() == [second])
        #expect(try await fixture.ledger(first).state == .done)
    }

    // MARK: Rotation

    @Test func `a token that came while the request was out gets the push too`() async throws {
        try await register(1)
        let (id, claim) = try await update()
        try await register(2)
        try await leaveOpen(claim, request(id))
        try await delivered(request(id))
        #expect(try await due() == [id], "for the new token")
        #expect(try await fixture.ledger(id).pending == 1)
    }

    @Test func `so does one that comes between settlement and answer`() async throws {
        try await register(1)
        let (id, claim) = try await update()
        try await leaveOpen(claim, request(id))
        try await register(2)
        #expect(try await due() == [], "the request is still open")
        try await delivered(request(id))
        #expect(try await due() == [id])
    }

    @Test func `a repeated registration of the same token changes nothing`() async throws {
        try await register(1)
        let (id, claim) = try await update()
        try await register(1)
        try await leaveOpen(claim, request(id))
        try await delivered(request(id))
        #expect(try await fixture.ledger(id).state == .done)
    }

    // MARK: Stopped and cancelled pushes

    @Test func `nothing overtakes the open request of a push that was cancelled before`() async throws {
        let (old, claim) = try await update(true)
        _ = try await fixture.store.pushes.cancel(fixture.app, old)
        try await leaveOpen(claim, request(old))
        #expect(try await fixture.ledger(old).skipped == 1)
        let (new, next) = try await update()
        try await fixture.joinQueues(next, [Self.channel])
        #expect(try await due() == [])
        try await delivered(request(old))
        let ledger = try await fixture.ledger(old)
        #expect(ledger.delivered == 1 && ledger.skipped == 0 && ledger.state == .cancelled)
        #expect(try await due() == [new])
    }

    @Test func `a push that is cancelled afterwards counts its delivery`() async throws {
        let (id, claim) = try await update(true)
        try await leaveOpen(claim, request(id))
        _ = try await fixture.store.pushes.cancel(fixture.app, id)
        #expect(try await fixture.ledger(id).skipped == 1)
        try await delivered(request(id))
        let ledger = try await fixture.ledger(id)
        #expect(ledger.delivered == 1 && ledger.skipped == 0)
        #expect(try await fixture.leftKeys("match-1").isEmpty)
    }

    // MARK: Nobody tells

    @Test func `a request whose time is over lapses before anything is sent`() async throws {
        let (id, claim) = try await update()
        try await leaveOpen(claim, request(id, for: .zero))
        #expect(try await due() == [id])
        let ledger = try await fixture.ledger(id)
        #expect(ledger.retries == 1 && ledger.duplicatesPossible == 1 && ledger.errors == ["Timeout": 1])
        #expect(try await open == 0)
        try await delivered(request(id, for: .zero))
        #expect(try await fixture.ledger(id).delivered == 0, "its owner woke too late: another request may be out")
    }

    /// The 200 is a fact about the token, also if nobody knew of it in time.
    @Test func `an end that is delivered after its request lapsed removes the token all the same`() async throws {
        try await register(1)
        let id = try await fixture.accepted("match-1", event: .end)
        try await leaveOpen(try await fixture.claimed("match-1", id), request(id, for: .zero))
        #expect(try await due() == [id])
        for _ in 0..<2 {
            try await late(request(id, for: .zero)) {
                $0.remove($1, TokenRemoval(channel: Self.channel, token: [1, 1], endedAt: 1_795_000_000_500))
            }
        }
        #expect(try await fixture.pendingRemovals("match-1").count == 1)
        #expect(try await fixture.ledger(id).pending == 1, "another request may be out")
    }

    @Test func `a request is not ended before its time, whatever the timer says`() async throws {
        let (id, claim) = try await update()
        try await leaveOpen(claim, request(id))
        try await fixture.store.redis.send(
            RedisCommand("ZADD", try fixture.key { $0.waitingChannels }, "1", .bytes(Self.channel)))
        #expect(try await due() == [])
        #expect(try await open == 1)
        #expect(try #require(try await fixture.firstRetry("match-1")) > (try await fixture.redisTime()))
    }

    @Test func `a time that lies further ahead than the request may take is another clock's`() async throws {
        let (id, claim) = try await update()
        try await leaveOpen(claim, request(id, for: .seconds(20)))
        // The clock stepped back an hour after the request was left open.
        let key = try fixture.key { $0.openRequests }
        let stored = try await fixture.store.redis.send(RedisCommand("HGET", key, .bytes(Self.channel))).bytes()
        let ahead = Array("\(try await fixture.redisTime() + 3_600_000) 20000".utf8)
        try await fixture.store.redis.send(
            RedisCommand("HSET", key, .bytes(Self.channel), .bytes(Array(stored.prefix(25)) + ahead)))
        try await fixture.store.redis.send(
            RedisCommand("ZADD", try fixture.key { $0.waitingChannels }, "1", .bytes(Self.channel)))
        #expect(try await due() == [id])
    }

    @Test func `a lapsed request of a superseded push lets the newer one go`() async throws {
        let (old, claim) = try await update()
        try await leaveOpen(claim, request(old, for: .zero))
        let (new, next) = try await update()
        try await fixture.joinQueues(next, [Self.channel])
        #expect(try await due() == [new])
        #expect(try await fixture.ledger(old).duplicatesPossible == 1)
        for id in [old, new] { #expect(try await isConsistent(id)) }
    }

    // MARK: Retries

    @Test func `a retry that stays open keeps its attempts and waits`() async throws {
        let (id, claim) = try await update()
        try await fixture.retry(claim, [Self.channel], due: 5_000, attempts: 3)
        let lease = try await fixture.claimRetries("match-1")
        let waiting = try #require(try await fixture.due(lease).first)
        let open = OpenRequest(OpenRequest.ID(worker: 1, number: 1), waiting, for: far)
        for _ in 0..<2 { try await fixture.settle(lease) { $0.leaveOpen(open) } }
        try await fixture.store.sweeps.giveBack(lease)
        #expect(try await due() == [])
        try await late(open) {
            $0.postpone($1, due: 1, attempts: 4, reason: "Timeout", mayBeDuplicate: true)
        }
        #expect(try await due() == [id])
        #expect(try await fixture.ledger(id).retries == 2)
    }

    @Test func `a retry that was superseded while it was sent holds the newer push`() async throws {
        let (old, claim) = try await update()
        try await fixture.retry(claim, [Self.channel], due: 5_000)
        let lease = try await fixture.claimRetries("match-1")
        let waiting = try #require(try await fixture.due(lease).first)
        let (new, next) = try await update()
        try await fixture.joinQueues(next, [Self.channel])
        let open = OpenRequest(OpenRequest.ID(worker: 1, number: 1), waiting, for: far)
        try await fixture.settle(lease) { $0.leaveOpen(open) }
        try await fixture.store.sweeps.giveBack(lease)
        #expect(try await due() == [])
        try await delivered(open)
        #expect(try await due() == [new])
        #expect(try await fixture.ledger(old).delivered == 1)
    }

    // MARK: The last settlement of a catch-up

    @Test func `the last settlement of a catch-up says that it ended, also when it is repeated`() async throws {
        try await fixture.track("match-1", count: 1)
        let (id, claim) = try await update(true)
        // Another channel waits for its retry, so that the push's tasks stay.
        var page = Settlement(range: claim.lease.bounds)
        page.targets = 1
        page.retry([9, 9], due: 9_000_000_000_000, attempts: 1)
        try await register(1)
        _ = try await fixture.settle(claim, page)
        let item = WorkItem(app: fixture.app, name: name, push: id, priority: .high, part: .catchUp)
        guard
            case .claimed(let catchUp) = try await fixture.store.sweeps.claim(item, owner: "w1", lease: fixture.lease)
        else { throw Unexpected(what: "no catch-up") }
        let arrival = try #require(
            try await fixture.store.sweeps.arrivals(fixture.app, name, after: 0, limit: 10).first)
        var last = Settlement(range: ScanPosition(0)..<ScanPosition(1))
        last.targets = 1
        last.count(.delivered)
        last.caughtUp(arrival)
        for _ in 0..<2 {
            guard case .ok(_, isFinished: true, _) = try await fixture.settle(catchUp, last) else {
                Issue.record("the catch-up goes on")
                return
            }
        }
        #expect(try await fixture.ledger(id).delivered == 1)
        // The next push begins, and a channel arrives. A settlement of the one before takes it from nobody.
        let (_, next) = try await update(true)
        try await register(3)
        let newer = try #require(
            try await fixture.store.sweeps.arrivals(fixture.app, name, after: 0, limit: 10).first)
        var late = Settlement(range: ScanPosition(1)..<ScanPosition(2))
        late.caughtUp(newer)
        _ = try await fixture.settle(catchUp, late)
        #expect(try await fixture.store.sweeps.arrivals(fixture.app, name, after: 0, limit: 10) == [newer])
        _ = next
    }
}
