import LiveActivity
import Testing

@testable import Fanout
@testable import Store

/// Tests when a worker looks for entries that others have left. It looks every five seconds, and each look is asked
/// for.
@Suite struct ClaimPlanTests {
    private static let step: Int64 = 5_000

    private func beat(_ worker: String, at: Int64, pages: Int = 0) -> Heartbeat {
        var load = Heartbeat.Load()
        load.pages = pages
        return Heartbeat(worker: worker, at: at, startedAt: 0, loads: [try! AppKey("shop"): load])
    }

    /// A plan that has seen two quiet workers for long enough.
    private func quiet(until now: inout Int64) -> ClaimPlan {
        var plan = ClaimPlan(claimAfter: 10_000, now: now)
        for _ in 0..<12 {
            now += Self.step
            _ = plan.mustLook(isLeft: false, both(now), time: now, now: now)
        }
        return plan
    }
    private func both(_ now: Int64) -> [Heartbeat] { [beat("a", at: now), beat("b", at: now - 2_000)] }

    @Test func `a worker that starts looks, and one among idle workers once a minute`() {
        var now: Int64 = 0
        var plan = ClaimPlan(claimAfter: 10_000, now: now)
        var looks: [Bool] = []
        for _ in 0..<36 {
            now += Self.step
            looks.append(plan.mustLook(isLeft: false, both(now), time: now, now: now))
        }
        #expect(Array(looks.prefix(6)) == Array(repeating: true, count: 6))
        #expect(looks.dropFirst(8).filter { $0 }.count == 2)
    }

    @Test func `a worker that falls silent is looked after until its entries are claimed`() {
        var now: Int64 = 0
        var plan = quiet(until: &now)
        let died = now
        var looks: [Int64] = []
        for _ in 0..<30 {
            now += Self.step
            let beats = [beat("a", at: now), beat("b", at: died)]
            if plan.mustLook(isLeft: false, beats, time: now, now: now) { looks.append(now - died) }
        }
        // Its entries can be claimed from two thirds of 10 s after its death on.
        let expected: Set<Int64> = [10_000, 15_000, 20_000, 60_000]
        #expect(Set(looks).isSuperset(of: expected), "\(looks)")
        #expect(looks.count < 28, "not for as long as its heartbeat is kept")
    }

    @Test func `whatever may leave an entry is a reason to look`() {
        let reasons: [(String, (inout ClaimPlan, Int64) -> Bool)] = [
            ("an own one", { $0.mustLook(isLeft: true, both($1), time: $1, now: $1) }),
            ("no answer", { $0.mustLook(isLeft: false, nil, time: $1, now: $1) }),
            ("a worker is gone", { $0.mustLook(isLeft: false, [beat("a", at: $1)], time: $1, now: $1) }),
            (
                "a worker has work",
                { $0.mustLook(isLeft: false, [beat("a", at: $1), beat("b", at: $1, pages: 1)], time: $1, now: $1) }
            ),
            (
                "a heartbeat lies ahead",
                { $0.mustLook(isLeft: false, [beat("a", at: $1), beat("b", at: $1 + 60_000)], time: $1, now: $1) }
            ),
        ]
        for (reason, look) in reasons {
            var now: Int64 = 0
            var plan = quiet(until: &now)
            // Not a turn at which it looks anyway.
            while plan.mustLook(isLeft: false, both(now), time: now, now: now) { now += Self.step }
            now += Self.step
            let isReason = look(&plan, now)
            #expect(isReason, "\(reason)")
            for _ in 0..<5 {
                now += Self.step
                let goesOn = plan.mustLook(isLeft: false, both(now), time: now, now: now)
                #expect(goesOn, "\(reason), after it")
            }
        }
    }

    @Test func `with a short time to claim every turn looks`() {
        var plan = ClaimPlan(claimAfter: 2_000, now: 0)
        for now in stride(from: Int64(0), to: 200_000, by: 1_000) {
            let must = plan.mustLook(isLeft: false, both(now), time: now, now: now)
            #expect(must)
        }
    }
}
