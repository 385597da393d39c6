import Testing

@testable import Redis

/// Tests whom sentinels are asked and what their answers decide, without a socket.
@Suite struct SentinelPollTests {
    private static let old = RedisAddress.tcp(host: "10.0.0.1", port: 6_379)
    private static let new = RedisAddress.tcp(host: "10.0.0.2", port: 6_379)
    private let began = ContinuousClock.now

    private func poll(_ count: Int = 3) -> SentinelPoll {
        SentinelPoll((0..<count).map { .tcp(host: "10.0.1.\($0)", port: 26_379) })
    }
    private func answer(_ primary: RedisAddress = old, downFor: Duration? = nil) -> Result<SentinelAnswer, RedisError> {
        var answer = SentinelAnswer(primary: primary, epoch: 1)
        answer.downFor = downFor
        return .success(answer)
    }
    private let failure = Result<SentinelAnswer, RedisError>.failure(.unreachable("why"))

    @Test func `a sentinel that is silent is not asked again`() {
        var poll = poll()
        #expect(poll.ask() == [0, 1, 2] && poll.ask() == [])
        poll.heard(answer(), from: 1, now: began)
        poll.heard(failure, from: 2, now: began)
        #expect(poll.ask() == [1, 2])
    }

    @Test func `a new connection waits for most sentinels, and a moment for the others`() {
        var poll = poll()
        let (courtesy, late) = (began + SentinelPoll.courtesy, began + .seconds(1))
        #expect(poll.verdict(since: began, now: began) == .waiting(until: courtesy))
        #expect(poll.verdict(since: began, now: late) == .waiting(until: late + SentinelPoll.patience))
        poll.heard(answer(), from: 0, now: began)
        #expect(poll.verdict(since: began, now: late) == .waiting(until: late + SentinelPoll.patience), "one of three")
        poll.heard(answer(), from: 1, now: began)
        #expect(poll.verdict(since: began, now: began) == .waiting(until: courtesy))
        #expect(poll.verdict(since: began, now: courtesy) == .found(Self.old))
        poll.heard(answer(), from: 2, now: began)
        #expect(poll.verdict(since: began, now: began) == .found(Self.old), "all have answered")
        #expect(poll.verdict(since: late, now: late) != .found(Self.old), "earlier answers do not count")
    }

    @Test func `nobody waits for a sentinel that was away before`() {
        var poll = poll()
        for index in 1...2 { poll.heard(failure, from: index, now: began - .seconds(9)) }
        poll.heard(answer(), from: 0, now: began)
        #expect(poll.verdict(since: began, now: began + .seconds(1)) == .found(Self.old))
    }

    @Test func `without a name of a primary, or with an objection to it, no connection is made`() {
        var poll = poll()
        for index in 0..<3 { poll.heard(failure, from: index, now: began) }
        #expect(poll.verdict(since: began, now: began) == .unknown)
        for index in 0..<3 { poll.heard(answer(downFor: .seconds(1)), from: index, now: began) }
        guard case .objection = poll.verdict(since: began, now: began) else {
            Issue.record("the sentinels say that it is down")
            return
        }
    }

    @Test func `a connection leaves when the sentinels name another server, while their answers count`() {
        var poll = poll()
        #expect(poll.objection(to: Self.old, now: began) == nil)
        for index in 0..<3 { poll.heard(answer(Self.new), from: index, now: began) }
        #expect(poll.objection(to: Self.old, now: began) != nil && poll.objection(to: Self.new, now: began) == nil)
        #expect(poll.objection(to: Self.old, now: began + .seconds(6)) == nil)
    }

    @Test func `it is told once that no sentinel answers, and once that one answers again`() {
        var poll = poll(1)
        #expect(poll.deafness(isUsed: false, now: began) == nil, "nobody has to leave a server")
        #expect(poll.deafness(isUsed: true, now: began) == true && poll.deafness(isUsed: true, now: began) == nil)
        poll.heard(answer(), from: 0, now: began)
        #expect(poll.deafness(isUsed: false, now: began) == false && poll.deafness(isUsed: true, now: began) == nil)
        #expect(poll.deafness(isUsed: true, now: began + .seconds(6)) == true)
    }

    @Test func `the task of a watch runs while there are connections`() {
        let (one, two) = (Mailbox(.none, measures: false), Mailbox(.none, measures: false))
        var connections = WatchedConnections()
        connections.wait(one)
        #expect(!connections.isAnyConnected && connections.follow(one, at: Self.old))
        #expect(!connections.follow(two, at: Self.new) && connections.goesOn())
        #expect(connections.mailboxes { $0 == Self.new }.map(ObjectIdentifier.init) == [ObjectIdentifier(two)])
        connections.leave(one)
        connections.leave(two)
        #expect(connections.isEmpty && !connections.follow(one, at: Self.old), "the task has not looked yet")
        connections.leave(one)
        #expect(!connections.goesOn() && connections.follow(one, at: Self.old), "the task has ended")
    }
}
