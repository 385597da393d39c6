import Testing

@testable import Lanes

@Suite struct LivenessTests {
    /// A class, so that expectations can call its mutating methods.
    private final class Subject {
        var value = Liveness(timeout: 10_000, now: 1_000)
        func next(isWaiting: Bool) -> Int64 { value.next(isWaiting: isWaiting) }
        func action(now: Int64, isWaiting: Bool) -> Liveness.Action? { value.action(now: now, isWaiting: isWaiting) }
        func heard(now: Int64) { value.heard(now: now) }
        func began(now: Int64) { value.began(now: now) }
    }

    private let liveness = Subject()

    @Test func `a quiet connection is asked now and then`() {
        let due = 1_000 + Liveness.quietMilliseconds
        #expect(liveness.next(isWaiting: false) == due)
        #expect(liveness.action(now: due - 1, isWaiting: false) == nil)
        #expect(liveness.action(now: due, isWaiting: false) == .ping)
        liveness.heard(now: due + 40)
        #expect(liveness.action(now: due + 10_000, isWaiting: false) == nil)
        #expect(liveness.next(isWaiting: false) == due + 40 + Liveness.quietMilliseconds)
    }

    @Test func `a quiet connection that does not answer is given up`() {
        let due = 1_000 + Liveness.quietMilliseconds
        #expect(liveness.action(now: due, isWaiting: false) == .ping)
        #expect(liveness.action(now: due + 9_999, isWaiting: false) == nil)
        #expect(liveness.action(now: due + 10_000, isWaiting: false) == .retire)
    }

    @Test func `silence while requests wait is looked into long before their deadline`() {
        #expect(liveness.action(now: 3_499, isWaiting: true) == nil)
        #expect(liveness.action(now: 3_500, isWaiting: true) == .ping)
        #expect(liveness.action(now: 5_999, isWaiting: true) == nil)
        #expect(liveness.action(now: 6_000, isWaiting: true) == .retire)
    }

    @Test func `anything heard means that it lives`() {
        #expect(liveness.action(now: 3_500, isWaiting: true) == .ping)
        liveness.heard(now: 3_600)
        #expect(liveness.action(now: 6_000, isWaiting: true) == nil)
        #expect(liveness.action(now: 6_100, isWaiting: true) == .ping)
    }

    @Test func `silence before the first request is not held against the connection`() {
        liveness.began(now: 200_000)
        #expect(liveness.action(now: 200_000, isWaiting: true) == nil)
        #expect(liveness.next(isWaiting: true) == 202_500)
    }

    /// A lane sleeps until the next time at which something is due, so an event that is always due would keep it awake.
    @Test func `a connection that was given up costs its lane no more turns`() {
        var (now, turns): (Int64, Int) = (1_000, 0)
        while now < 21_000, turns < 1_000 {
            turns += 1
            now = max(now, min(21_000, liveness.next(isWaiting: true)))
            _ = liveness.action(now: now, isWaiting: true)
        }
        #expect(turns == 3, "the PING, the end of its patience, the end of the requests")
    }

    @Test func `a request does not excuse a PING without an answer`() {
        let due = 1_000 + Liveness.quietMilliseconds
        #expect(liveness.action(now: due, isWaiting: false) == .ping)
        liveness.began(now: due + 5_000)
        #expect(liveness.action(now: due + 5_000, isWaiting: true) == .retire)
    }
}
