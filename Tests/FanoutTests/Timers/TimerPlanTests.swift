import LiveActivity
import Testing

@testable import Fanout
@testable import Store
@testable import StoreGround

/// Tests which work a worker begins by the timers in Redis, and when it looks again.
@Suite struct TimerPlanTests {
    private let app = try! AppKey("shop")

    @Test func `what is due is begun once and the next timer ends the sleep`() {
        var plan = TimerPlan()
        let next = NextDue(task: 1_000, schedule: 1_200, broadcastChannels: [app: 90_000])
        let (begin, wake) = plan.look(next, now: 1_000)
        #expect(begin == [.tasks])
        #expect(wake == 1_200)
        let (again, _) = plan.look(next, now: 1_001)
        #expect(again.isEmpty, "it is under way")
        plan.ended(.tasks, now: 1_010)
        let (tooSoon, rest) = plan.look(next, now: 1_010)
        #expect(tooSoon.isEmpty && rest == 1_015)
        let (third, _) = plan.look(next, now: 1_015)
        #expect(third == [.tasks], "another worker may have had it in hand, and died")
    }

    @Test func `a pause between two turns ends although Redis's clock was set back`() {
        var plan = TimerPlan()
        let next = NextDue(task: 1_000, schedule: 1_000)
        #expect(plan.look(next, now: 600_000).begin == [.tasks, .schedules])
        plan.ended(.tasks, now: 600_000)
        plan.ended(.schedules, now: 600_000)
        #expect(plan.look(next, now: 2_000).begin == [.tasks, .schedules])
    }

    @Test func `an app whose channels take long holds up no other's`() throws {
        let other = try AppKey("other")
        var plan = TimerPlan()
        #expect(plan.look(NextDue(broadcastChannels: [app: 5]), now: 10).begin == [.broadcastChannels(app)])
        #expect(
            plan.look(NextDue(broadcastChannels: [app: 5, other: 7]), now: 10).begin == [.broadcastChannels(other)])
    }

    @Test func `a timer that another process set is found within a second`() {
        var plan = TimerPlan()
        for next in [nil, NextDue(), NextDue(task: .max, schedule: 99_000_000, broadcastChannels: [app: 5_000])] {
            let (begin, wake) = plan.look(next, now: 1_000)
            #expect(begin.isEmpty)
            #expect(wake > 1_000 && wake + TimerPlan.stagger < 2_000)
        }
    }

    @Test func `a timer that stays due is not asked for all the time`() {
        var plan = TimerPlan()
        var turns: [TimerPlan.Chore: Int] = [:]
        var now: Int64 = 0
        while now < 10_000 {
            let (begin, wake) = plan.look(NextDue(task: 0, schedule: 0, broadcastChannels: [app: 0], end: 0), now: now)
            for chore in begin {
                turns[chore, default: 0] += 1
                plan.ended(chore, now: now)
            }
            #expect(begin.isEmpty || wake >= now)
            now = max(now + 1, begin.isEmpty ? wake : now)
        }
        #expect(turns[.tasks] ?? 0 <= 2_000)
        #expect((39...40).contains(turns[.schedules] ?? 0))
        #expect((39...40).contains(turns[.ends] ?? 0))
        #expect((19...20).contains(turns[.broadcastChannels(app)] ?? 0))
    }
}
