import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Fanout
@testable import Store
@testable import StoreDeliveries
@testable import StoreGround

/// The devices of a day, as a worker notes them.
@Suite struct ReachedDevicesTests {
    @Test func `a test on one device is no device of the day, a push to one device is`() async throws {
        let fixture = try await WorkerFixture.start()
        let channels = try await fixture.track(1..<3)
        try await fixture.withWorker {
            for (channel, trace) in [(channels[0], channels[0]), (channels[1], nil)] {
                let publish = Publish(
                    name: fixture.name, event: .update, audience: .channel(channel),
                    contentState: RawJSON(checked: "{}"), options: PublishOptions(trace: trace))
                let id = PushID.random()
                _ = try await fixture.store.pushes.accept(
                    fixture.app, publish, id: id, payload: Array(#"{"aps":{"timestamp":0000000000}}"#.utf8),
                    timestampOffset: 20, now: nowMilliseconds())
                #expect(try await fixture.finished(id).delivered == 1)
            }
            let day = fixture.store.time.now() / Sums.Period.day.length
            var devices = 0
            // Both would be sent at once.
            try await eventually("the device is noted") {
                let keys = (day - 1...day).map { fixture.store.keys.deviceSketch(fixture.app, $0) }
                devices = try await fixture.store.redis.run(RedisCommand("PFCOUNT", keys.map { .key($0) })).integer()
                return devices > 0
            }
            #expect(devices == 1)
        }
    }
}
