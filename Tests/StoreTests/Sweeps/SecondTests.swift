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

    @Test func `each push has a later second, and keeps it`() async throws {
        let fixture = try await PushFixture.start()
        let sweeps = fixture.store.sweeps
        let now = Int(fixture.store.time.now() / 1_000)
        var last = 0
        for _ in 0..<20 {
            let push = push(fixture, timestamp: now, isSupersedable: false)
            let (second, wait) = try await sweeps.second(fixture.app, name, of: push)
            let found = try #require(second)
            #expect(found > last && wait == .zero)
            #expect(try await sweeps.second(fixture.app, name, of: push).second == found)
            #expect(try await sweeps.knownSecond(fixture.app, name, of: push.id) == found)
            last = found
        }
        #expect(last == now + 19)
        #expect(try await sweeps.knownSecond(fixture.app, name, of: .random()) == nil)
    }

    @Test func `an update that may be superseded waits for its second, another one runs ahead for a minute`()
        async throws
    {
        let fixture = try await PushFixture.start()
        let sweeps = fixture.store.sweeps
        let now = Int(fixture.store.time.now() / 1_000)
        func second(_ isSupersedable: Bool) async throws -> (second: Int?, wait: Duration) {
            try await sweeps.second(
                fixture.app, name, of: push(fixture, timestamp: now, isSupersedable: isSupersedable))
        }
        #expect(try await second(true).second == now)
        let waiting = try await second(true)
        #expect(waiting.second == nil && waiting.wait > .zero && waiting.wait <= .seconds(1))
        var given: Int?
        repeat { given = try await second(false).second ?? given } while try await second(false).second != nil
        // The clock went on meanwhile.
        #expect((now + 59...now + 120).contains(try #require(given)))
    }

    @Test func `after the clock was set back nothing waits until it is there again, and seconds still rise`()
        async throws
    {
        let fixture = try await PushFixture.start()
        let sweeps = fixture.store.sweeps
        let now = Int(fixture.store.time.now() / 1_000)
        let before = push(fixture, timestamp: now + 3_600, isSupersedable: true)
        #expect(try await sweeps.second(fixture.app, name, of: before).second == now + 3_600)
        for isSupersedable in [true, false] {
            let (second, wait) = try await sweeps.second(
                fixture.app, name, of: push(fixture, timestamp: now, isSupersedable: isSupersedable))
            #expect(try #require(second) > now + 3_600 && wait == .zero)
        }
    }
}
