import LiveActivity
import Redis
import Testing

@testable import Store
@testable import StoreGround

/// Tests that `pushes.expire_after` decides how long everything of a push is kept.
@Suite struct RetentionTests {
    private static let retention = Duration.seconds(3 * 86_400)

    @Test func `a push, its queues and its dead letter are kept for the retention`() async throws {
        let fixture = try await PushFixture.start(retention: Self.retention)
        let (redis, keys) = (fixture.store.redis, fixture.store.keys)
        let push = try await fixture.accepted("match-1")
        let claim = try await fixture.claimed("match-1", push)
        var settlement = Settlement(range: claim.lease.bounds)
        settlement.targets = 3
        settlement.giveUp([1], reason: "TooManyRequests")
        settlement.retry([2], due: 5_000, attempts: 1)
        settlement.count(.expired)
        _ = try await fixture.settle(claim, settlement)
        _ = try await fixture.claimRetries("match-1")

        let tag = keys.tag(fixture.app, try ActivityName("match-1"))
        let deadLetter = RedisKey(keys.deadLetterPrefix(tag) + push.description)
        let kept = [
            fixture.store.pushes.index.key(fixture.app, push),
            keys.push(tag, push), keys.name(tag), keys.tasks(tag, push), keys.retryQueues(tag),
            keys.waitingChannels(tag), keys.nameLeases(tag), deadLetter, RedisKey("\(deadLetter):c"),
        ]
        for key in kept {
            let left = try await redis.send(RedisCommand("PTTL", key)).integer()
            let isLonger = key == keys.name(tag) || key == kept[0]
            let most = Int(keys.retention + (isLonger ? Keyspace.nameSlack.milliseconds : 0))
            #expect((most - 3_600_000...most).contains(left), "\(key)")
        }
    }

    /// Its sequence number and timestamp decide about older pushes, which must not outlive them.
    @Test func `a name outlives its newest push`() async throws {
        let fixture = try await PushFixture.start(retention: Self.retention)
        let (keys, name) = (fixture.store.keys, try ActivityName("match-1"))
        let tag = keys.tag(fixture.app, name)
        let time = try await fixture.redisTime()
        for minutes: Int64 in [0, 30, 59, 61] {
            let acceptance = try await fixture.publish("match-1", now: time + minutes * 60_000)
            guard case .accepted(let id, _, _) = acceptance else { throw Unexpected(what: "\(acceptance)") }
            // A start tells the name's type. This must not shorten the name's life.
            try await fixture.store.schemas.describe(fixture.app, name, type: "Match")
            let lives = try await fixture.store.redis.pipeline([
                RedisCommand("PEXPIRETIME", keys.name(tag)), RedisCommand("HGET", keys.name(tag), "kept"),
                RedisCommand("PEXPIRETIME", keys.push(tag, id)),
            ])
            let (life, kept) = (Int64(try lives[0].integer()), try #require(Int64(try lives[1].string())))
            #expect(life >= Int64(try lives[2].integer()))
            #expect(kept >= time + minutes * 60_000 + keys.retention)
        }
    }

    @Test func `a schedule is kept for the retention after its time`() async throws {
        let fixture = try await PushFixture.start(retention: Self.retention)
        let publish = Publish(name: try ActivityName("match-1"), event: .update, audience: .all)
        let schedule = Schedule(
            id: .random(), publish: publish, payload: [], timestampOffset: 0, due: 4_102_444_800_000, createdAt: 9)
        _ = try await fixture.store.schedules.create(fixture.app, [schedule])
        let key = fixture.store.keys.schedule(fixture.app, schedule.id)
        let ends = try await fixture.store.redis.send(RedisCommand("PEXPIRETIME", key)).integer()
        #expect(ends == 4_102_444_800_000 + Int(Self.retention.milliseconds))
    }
}
