import Testing

@testable import Store

@Suite struct HeartbeatsTests {
    private func heart(_ worker: String, at: Int64, from start: Int64) -> Heartbeat {
        Heartbeat(worker: worker, at: at, startedAt: start, loads: [:])
    }

    @Test func `a worker that was killed is gone once another one of its name was started`() {
        let killed = heart("one-01a21502", at: 5_000, from: 1_000)
        let again = heart("one-01a21599", at: 9_000, from: 8_000)
        let other = heart("two-01a21503", at: 5_000, from: 1_000)
        #expect(Heartbeats.present([killed, other]) == [killed, other])
        #expect(Heartbeats.present([killed, again, other]) == [again, other])
    }

    @Test func `two that live with one name are both there`() {
        let (first, second) = (
            heart("one-01a21502", at: 9_500, from: 1_000), heart("one-01a21599", at: 9_000, from: 8_000)
        )
        #expect(Heartbeats.present([first, second]) == [first, second])
    }
}
