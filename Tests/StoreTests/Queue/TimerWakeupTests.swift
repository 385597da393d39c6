import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store
@testable import StoreGround

/// Tests that a process wakes in time for work that it scheduled itself.
@Suite(.timeLimit(.minutes(1))) struct TimerWakeupTests {
    private let hour: Int64 = 3_600_000

    @Test(.timeLimit(.minutes(5))) func `an earlier timer ends the sleep of all`() async throws {
        let fixture = try await PushFixture.start()
        let wakeup = fixture.store.queue.wakeup
        let sleepers = [wakeup.add(), wakeup.add()]
        for sleeper in sleepers { wakeup.listen(sleeper) }
        let now = fixture.store.time.now()
        await withDiscardingTaskGroup { group in
            for sleeper in sleepers {
                group.addTask { [hour] in await wakeup.sleep(sleeper, until: now + hour, by: fixture.store.time.now) }
            }
            // This works whether the schedule comes before or after they fall asleep.
            try? await fixture.store.queue.schedule(
                .retries(fixture.app, try! ActivityName("match-1"), .high), due: now)
        }
        for sleeper in sleepers { wakeup.remove(sleeper) }
    }

    @Test(.timeLimit(.minutes(5))) func `a timer that is set while awake shortens the next sleep only`() async throws {
        let wakeup = TimerWakeup()
        let sleeper = wakeup.add()
        defer { wakeup.remove(sleeper) }
        wakeup.listen(sleeper)
        wakeup.ring(5)
        await wakeup.sleep(sleeper, until: hour) { 5 }
        // Now the timer has read Redis again and knows the time.
        wakeup.listen(sleeper)
        wakeup.ring(2 * hour)
        let nap = Task { [hour] in await wakeup.sleep(sleeper, until: hour) { 5 } }
        wakeup.ring(sleeper, 6)
        await nap.value
    }

    @Test func `the first timer of each kind is known`() async throws {
        let fixture = try await PushFixture.start()
        let store = fixture.store
        #expect(try await store.queue.nextDue([fixture.app]) == NextDue())
        try await store.queue.schedule(.late(fixture.app, try ActivityName("match-2")), due: 9_000)
        try await store.queue.schedule(.retries(fixture.app, try ActivityName("match-1"), .high), due: 7_000)
        try await store.broadcasts.postpone(fixture.app, try ActivityName("match-3"), until: 8_000)
        #expect(
            try await store.queue.nextDue([fixture.app])
                == NextDue(task: 7_000, broadcastChannels: [fixture.app: 8_000]))
        let other = try AppKey("other")
        #expect(try await store.queue.nextDue([other]) == NextDue(), "another app's worker sees to it")
        #expect(try await store.queue.nextDue([other, fixture.app]).task == 7_000)
    }

    @Test func `names whose cards end by themselves are one kind`() async throws {
        let fixture = try await PushFixture.start()
        let store = fixture.store
        let (waits, inHand) = (store.keys.ends(fixture.app), store.keys.claimedEnds(fixture.app))
        _ = try await store.redis.send(RedisCommand("ZADD", waits, "6000", "match-1"))
        #expect(try await store.queue.nextDue([fixture.app]) == NextDue(), "no worker's cards end by themselves")
        #expect(try await store.queue.nextDue([fixture.app], ending: [fixture.app]) == NextDue(end: 6_000))
        // The owner of a claimed automatic end may have died.
        _ = try await store.redis.send(RedisCommand("ZADD", inHand, "5000", "1 match-2"))
        #expect(try await store.queue.nextDue([fixture.app], ending: [fixture.app]) == NextDue(end: 5_000))
    }
}
