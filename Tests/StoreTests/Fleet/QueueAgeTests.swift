import LiveActivity
import Redis
import Testing

@testable import Store

/// Work waits until a worker reads it. Work that a worker has begun is in the stream too, but is no reason to wake
/// somebody.
@Suite struct QueueAgeTests {
    @Test func `an entry ages until a worker reads it`() async throws {
        let fixture = try await PushFixture.start()
        let queue = fixture.store.queue
        func age(now: Int64) async throws -> QueueAge {
            try #require(try await queue.age([fixture.app], now: now).first)
        }
        #expect(try await age(now: fixture.redisTime()) == QueueAge(app: fixture.app), "no stream yet")

        _ = try await fixture.accepted("match-1")
        let later = try await fixture.redisTime() + 90_000
        #expect(try await age(now: later).pushesHigh >= 90_000, "no worker yet")
        try await queue.prepare([fixture.app])
        #expect(try await age(now: later).pushesHigh >= 90_000)

        let reader = try fixture.reader()
        defer { reader.close() }
        let batch = try await reader.read(
            .namesHigh, [fixture.app], consumer: "w1", count: 10, block: .milliseconds(100))
        #expect(batch.entries.count == 1)
        #expect(try await age(now: later).pushesHigh == 0)
        #expect(try await queue.depth([fixture.app]).first?.pushesHigh == 1, "its work is not done")

        _ = try await fixture.accepted("match-2")
        #expect(try await age(now: fixture.redisTime() + 90_000).pushesHigh >= 90_000)
        try await queue.acknowledge(batch.entries.map(\.place))
        #expect(try await age(now: fixture.redisTime() + 90_000).pushesHigh >= 90_000)
    }
}
