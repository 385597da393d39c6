import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store
@testable import StoreGround

/// The devices of a day, sketched in a worker.
@Suite struct DeviceSketchTests {
    private func page(_ channels: [[UInt8]]) -> TokenPage {
        var page = TokenPage(reservingEntries: channels.count, bytes: 20 * channels.count)
        for channel in channels { page.append(channel: channel, token: [1], registeredAt: 0) }
        return page
    }

    @Test func `the image in a worker keeps back nothing that Redis would count`() async throws {
        let fixture = try await SumsFixture()
        let redis = fixture.store.redis
        // Channels have 16 bytes, or are texts of any length.
        let channels = (0..<30_000).map { number in
            number % 3 == 0 ? Array("device-\(number)".utf8) : UUIDBytes.random().bytes
        }
        var image = HyperLogLog()
        let raising = channels.filter { image.add($0[...]) }
        #expect(raising.count < channels.count)
        for (key, devices) in [("{a}:all", channels), ("{a}:some", raising)] {
            for part in devices.parts(of: 1_000) {
                try await redis.run("PFADD", RedisKey(key), part.map { .bytes($0) })
            }
        }
        let counts = try await redis.run(["{a}:all", "{a}:some"].map { RedisCommand("PFCOUNT", RedisKey($0)) })
        #expect(try counts[0].integer() == counts[1].integer())
    }

    @Test func `a device counts once a day, however many pushes and workers it has`() async throws {
        let fixture = try await SumsFixture()
        let channels = (0..<300).map { Array("device-\($0)".utf8) }
        // The estimate is the one that Redis has for the same devices.
        let redis = fixture.store.redis
        try await redis.run("PFADD", RedisKey("all"), channels.map { .bytes($0) })
        let expected = try await redis.run("PFCOUNT", RedisKey("all")).integer()
        let workers = [DeviceSketches(fixture.store), DeviceSketches(fixture.store)]
        for worker in workers {
            for _ in 0..<3 { worker.add(fixture.app, page(channels), Array(0..<200)) }
            worker.add(fixture.app, page(channels), [])
        }
        workers[1].add(fixture.app, page(channels), Array(150..<300))
        let day = fixture.now / Sums.Period.day.length
        try await eventually("the devices are counted") {
            let view = try await fixture.store.sums.read(fixture.app, by: .day, day - 6...day, .whole(nil))
            return view.devices[day] == expected && view.allDevices == expected
        }
        let key = fixture.store.keys.deviceSketch(fixture.app, day)
        #expect(try await redis.run("PTTL", key).integer() > 399 * 86_400_000)
        // The next day begins with none.
        fixture.now += 24 * SumsFixture.hour
        workers[0].add(fixture.app, page(channels), [0])
        try await eventually("the next day has one") {
            let view = try await fixture.store.sums.read(fixture.app, by: .day, day...day + 1, .whole(nil))
            return view.devices[day + 1] == 1 && view.devices[day] == expected
        }
    }
}

extension KeptPushTests {
    @Test func `sums count kept pushes beside others`() async throws {
        let fixture = try await PushFixture.start()
        let now = fixture.store.time.now()
        for index in 0..<5 {
            _ = try await done(fixture, hasOwn: index == 2, id: .ordered(at: now, index: index), now: now)
        }
        let hour = try #require(try await fixture.store.sums.count(fixture.app, hour: now / SumsFixture.hour))
        let counts = try #require(hour.table.sums[SumKey(.update, name)])
        #expect(counts.pushes == 5 && counts.outcomes.delivered == 5 && counts.reached == 5)
    }
}
