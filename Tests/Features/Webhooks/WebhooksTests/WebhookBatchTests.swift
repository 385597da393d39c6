import Testing

@testable import Webhooks

/// Which events go into a request, and what an answer means for them.
@Suite struct WebhookBatchTests {
    private static let accepted = WebhookResult(status: 200)
    private static let refused = WebhookResult(status: 422)
    private static let broken = WebhookResult(status: 503)

    private func events(_ numbers: some Sequence<Int>, bytes: Int = 500) -> [(entry: String, bytes: Int)] {
        numbers.map { (entry: "\($0)-0", bytes: bytes) }
    }

    @Test func `a request has up to a hundred events and 256 KiB`() {
        var batch = WebhookBatch()
        #expect(batch.next(events(0..<3)) == 0..<3)
        #expect(batch.next(events(0..<100)) == 0..<100)
        #expect(batch.next(events(0..<100, bytes: 100 << 10)) == 0..<2)
        #expect(batch.next(events(0..<100, bytes: 1 << 20)) == 0..<1, "one that is larger goes alone")
    }

    @Test func `a webhook that fails gets the same events again, and no other`() {
        var batch = WebhookBatch()
        for _ in 0..<20 {
            #expect(batch.next(events(0..<5)) == 0..<5)
            #expect(batch.answered(Self.broken) == .backOff)
        }
    }

    @Test func `the pause is as long as the webhook asks for, up to the longest`() {
        func pause(after attempts: Int, asked: Int?) -> Duration {
            WebhookSender.pause(after: attempts, asked: asked, longest: .seconds(300), fraction: 0.5)
        }
        #expect(pause(after: 1, asked: nil) == .milliseconds(500))
        #expect(pause(after: 1, asked: 20) == .seconds(20) && pause(after: 7, asked: 20) == .seconds(32))
        #expect(pause(after: 1, asked: 3_600) == .seconds(300))
    }

    /// Sends a queue through a webhook that refuses requests with one of these events.
    private func deliver(_ count: Int, refusing poison: Set<Int>) -> (sent: [Int], dead: [Int], requests: Int) {
        var batch = WebhookBatch()
        var (queue, sent, dead, requests) = (Array(0..<count), [Int](), [Int](), 0)
        while !queue.isEmpty, requests < 1_000 {
            let waiting = Array(queue.prefix(100))
            let chosen = batch.next(events(waiting))
            requests += 1
            let isRefused = waiting[chosen].contains { poison.contains($0) }
            switch batch.answered(isRefused ? Self.refused : Self.accepted) {
            case .goOn: continue
            case .backOff: return (sent, dead, requests)
            case .delivered(let refused, let reason):
                if refused > 0 { #expect(reason == "HTTP 422") }
                dead += waiting[..<refused]
                sent += waiting[chosen]
                queue.removeAll { waiting[..<chosen.upperBound].contains($0) }
            }
        }
        return (sent, dead, requests)
    }

    @Test(arguments: [0, 1, 50, 98]) func `an event that is refused alone stands aside for those behind it`(poison: Int)
    {
        let result = deliver(100, refusing: [poison])
        #expect(result.dead == [poison] && result.sent == (0..<100).filter { $0 != poison })
        #expect(result.requests <= 20, "\(result.requests)")
    }

    @Test func `several in a row stand aside`() {
        let result = deliver(300, refusing: [10, 11, 12, 200])
        #expect(result.dead == [10, 11, 12, 200] && result.sent.count == 296)
    }

    @Test func `a webhook that refuses everything is wrong itself, and nothing stands aside`() {
        let result = deliver(100, refusing: Set(0..<100))
        #expect(result.dead.isEmpty && result.sent.isEmpty)
        // A hundred, 50, 25, 12, 6, 3, then eight alone.
        #expect(result.requests == 14)
    }

    @Test func `the only event is kept although it is refused`() {
        var batch = WebhookBatch()
        #expect(batch.next(events([7])) == 0..<1)
        #expect(batch.answered(Self.refused) == .backOff)
        #expect(batch.next(events([7, 8])) == 0..<1)
        #expect(batch.answered(Self.refused) == .goOn)
        #expect(batch.next(events([7, 8])) == 1..<2)
        #expect(batch.answered(Self.accepted) == .delivered(refused: 1, because: "HTTP 422"))
    }

    @Test func `what was refused is forgotten when the queue has lost it`() {
        var batch = WebhookBatch()
        _ = batch.next(events([1]))
        #expect(batch.answered(Self.refused) == .backOff)
        _ = batch.next(events([1, 2]))
        #expect(batch.answered(Self.refused) == .goOn)
        #expect(batch.next(events([2, 3])) == 0..<1, "a full queue dropped it")
        #expect(batch.answered(Self.accepted) == .delivered(refused: 0, because: "HTTP 422"))
    }
}
