import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store

/// Tests that a worker removes entries from the lists when their subject is gone, although no caller reads them.
@Suite struct WorkerTidyingTests {
    @Test func `names and dead letters that are gone leave their lists while a worker runs`() async throws {
        let fixture = try await WorkerFixture.start()
        let channels = try await fixture.track(0..<1)
        #expect(channels.count == 1)
        let (keys, app) = (fixture.store.keys, fixture.app)
        let (names, dead, marked) = (keys.names(app), keys.deadIndex(app), keys.quarantinedNames(app))
        for number in 0..<1_200 {
            try await fixture.store.redis.send(RedisCommand("ZADD", names, "0", "gone-\(number)"))
        }
        try await fixture.store.redis.send(RedisCommand("ZADD", dead, "1000", "\(PushID.random()) match-1"))
        try await fixture.store.redis.send(RedisCommand("ZADD", marked, "1000", "match-1"))
        try await fixture.withWorker(ScriptedTransport()) {
            // Tidying begins at a random place of the list, and comes around again in ten seconds.
            try await eventually("nothing that is gone is listed", within: .seconds(120)) {
                let replies = try await fixture.store.redis.pipeline([
                    RedisCommand("ZRANGE", names, "0", "-1"), RedisCommand("EXISTS", dead, .key(marked)),
                ])
                return try replies[0].array().map { try $0.string() } == ["match-1"] && replies[1].integer() == 0
            }
        }
    }

    @Test func `a channel that a dead gateway was asked to forget is forgotten`() async throws {
        let fixture = try await WorkerFixture.start()
        let channel = try #require(try await fixture.track(0..<1).first)
        let (store, app) = (fixture.store, fixture.app)
        let list = store.keys.forgetSteps(app)
        // The gateway noted the request a minute ago, and died.
        let step = ForgetStep(askedAt: store.time.now() + 1_000, channel: channel.stored)
        try await store.redis.send(RedisCommand("ZADD", list, "1000", .bytes(step.stored)))
        try await fixture.withWorker(ScriptedTransport()) {
            try await eventually("the channel is not known any more", within: .seconds(120)) {
                try await store.story(app, channel) == nil
            }
        }
    }
}
