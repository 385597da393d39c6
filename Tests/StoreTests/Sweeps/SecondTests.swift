import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store
@testable import StoreDeliveries

/// Seconds that rise with each sent push of a name, for devices that order states by them.
@Suite struct SecondTests {
    private let name = try! ActivityName("match-1")

    private func push(_ fixture: PushFixture, timestamp: Int, isSupersedable: Bool) -> PushRecord {
        PushRecord(
            id: .random(), event: .update, priority: .high, audience: .all, sequence: 1,
            isSupersedable: isSupersedable, timestamp: timestamp, deadline: .max, createdAt: 0, state: .sending,
            payload: [])
    }

    /// The second that a push gets, or how long it has to wait.
    private func second(
        _ fixture: PushFixture, of push: PushRecord
    ) async throws -> (second: Int?, wait: Duration) {
        var push = push
        let wait = try await fixture.store.sweeps.giveSecond(fixture.app, name, to: &push)
        return (push.second, wait)
    }

    private func knownSecond(_ fixture: PushFixture, of push: PushRecord) async throws -> Int? {
        var push = push
        try await fixture.store.sweeps.recallSecond(fixture.app, name, of: &push)
        return push.second
    }

    @Test func `each push has a later second, and keeps it`() async throws {
        let fixture = try await PushFixture.start()
        let now = Int(fixture.store.time.now() / 1_000)
        var last = 0
        for _ in 0..<20 {
            let push = push(fixture, timestamp: now, isSupersedable: false)
            let (given, wait) = try await second(fixture, of: push)
            let found = try #require(given)
            #expect(found > last && wait == .zero)
            #expect(try await second(fixture, of: push).second == found)
            #expect(try await knownSecond(fixture, of: push) == found)
            last = found
        }
        #expect(last == now + 19)
        #expect(try await knownSecond(fixture, of: push(fixture, timestamp: now, isSupersedable: false)) == nil)
    }

    @Test func `a name remembers the type of its cards that a push told last`() async throws {
        let fixture = try await PushFixture.start()
        func card(_ type: String?, of push: inout PushRecord) async throws -> String? {
            push.contents[.android] = PlatformContent(type: type)
            _ = try await fixture.store.sweeps.giveSecond(fixture.app, name, to: &push)
            let given = push.cardType
            push.cardType = nil
            try await fixture.store.sweeps.recallSecond(fixture.app, name, of: &push)
            #expect(push.cardType == given)
            return given
        }
        var pushes = (0..<3).map { push(fixture, timestamp: 1_000 + $0, isSupersedable: false) }
        #expect(try await card(nil, of: &pushes[0]) == nil)
        #expect(try await card("match", of: &pushes[1]) == "match")
        #expect(try await card(nil, of: &pushes[2]) == "match")
    }

    @Test func `an update that may be superseded waits for its second, another one runs ahead for a minute`()
        async throws
    {
        let fixture = try await PushFixture.start()
        let now = Int(fixture.store.time.now() / 1_000)
        func second(_ isSupersedable: Bool) async throws -> (second: Int?, wait: Duration) {
            try await self.second(
                fixture, of: push(fixture, timestamp: now, isSupersedable: isSupersedable))
        }
        #expect(try await second(true).second == now)
        let waiting = try await second(true)
        #expect(waiting.second == nil && waiting.wait > .zero && waiting.wait <= .seconds(1))
        var given: Int?
        repeat { given = try await second(false).second ?? given } while try await second(false).second != nil
        // The clock went on meanwhile.
        #expect((now + 59...now + 120).contains(try #require(given)))
    }

    /// The card gets a start of the first second that is not before the loss.
    @Test func `a push behind a lost card has a later second than the card's start, and does not wait`() async throws {
        let fixture = try await PushFixture.start()
        let start = 1_794_999_990
        var begun = push(fixture, timestamp: start - 60, isSupersedable: true)
        begun.contents[.android] = PlatformContent(type: "match")
        #expect(try await second(fixture, of: begun).second == start - 60)
        func lose(_ channels: [ChannelID], at time: Int64) async throws {
            let lost = channels.map {
                Registration(channel: $0, token: .withoutCard(on: .android), registeredAt: time)
            }
            _ = try await fixture.store.registry.track(fixture.app, .activity(name), lost)
        }
        func next(_ isSupersedable: Bool = true) async throws -> Int? {
            let push = push(fixture, timestamp: start, isSupersedable: isSupersedable)
            let (second, wait) = try await self.second(fixture, of: push)
            #expect(wait == .zero)
            return second
        }
        let channels = [ChannelID.random(), .random()]
        try await lose([channels[0]], at: Int64(start) * 1_000 + 1)
        #expect(try await next() == start + 2)
        #expect(try await next(false) == start + 3)
        // The earlier loss of another device changes nothing.
        try await lose([channels[1]], at: Int64(start) * 1_000 - 500)
        #expect(try await next() == start + 4)
        // In one call, as those of one name that come at once.
        try await lose(channels, at: Int64(start) * 1_000 + 9_001)
        #expect(try await next() == start + 11)
    }

    @Test func `after the clock was set back nothing waits until it is there again, and seconds still rise`()
        async throws
    {
        let fixture = try await PushFixture.start()
        let now = Int(fixture.store.time.now() / 1_000)
        let before = push(fixture, timestamp: now + 3_600, isSupersedable: true)
        #expect(try await second(fixture, of: before).second == now + 3_600)
        for isSupersedable in [true, false] {
            let (given, wait) = try await second(
                fixture, of: push(fixture, timestamp: now, isSupersedable: isSupersedable))
            #expect(try #require(given) > now + 3_600 && wait == .zero)
        }
    }
}
