import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store
@testable import StoreDeliveries

/// Tests how a sweep reads which channels of a page wait, are quarantined, or are otherwise left out.
@Suite struct SendBlocksTests {
    private let name = try! ActivityName("match-1")

    private func page(_ fixture: PushFixture) async throws -> (page: TokenPage, counts: BlockCounts) {
        let (page, _, counts) = try await fixture.store.tokens.markedPage(
            fixture.app, .activity(name), from: .start, to: .end, limit: 1_000)
        return (page, counts)
    }

    private func marks(
        _ fixture: PushFixture, _ page: TokenPage, _ counts: BlockCounts
    ) async throws -> SendBlocks {
        try #require(
            try await fixture.store.tokens.marks(fixture.app, .activity(name), page, counts, for: .end))
    }

    private static func end(at time: Int64) -> PushRecord {
        PushRecord(
            id: .random(), event: .end, priority: .high, audience: .all, sequence: 1, isSupersedable: false,
            deadline: .max, createdAt: time, state: .queued, payload: [])
    }

    /// Marks a channel as the product does, with a value that holds for its token.
    private func write(
        _ mark: SendBlock, _ fixture: PushFixture, _ channel: some Collection<UInt8>,
        _ token: some Collection<UInt8>
    ) async throws {
        let key = mark.key(fixture.store.keys, fixture.store.keys.tag(fixture.app, name))
        let channel = RedisArgument.bytes(Array(channel))
        let command =
            switch mark {
            case .waiting: RedisCommand("HSET", key, channel, "a queue")
            case .quarantined:
                RedisCommand(
                    "HSET", key, channel,
                    .bytes(QuarantineMark(reason: "BadDeviceToken", since: 1, token: Array(token)).storedValue))
            case .elsewhere: RedisCommand("HSET", key, channel, .bytes(OtherEnvironment.hash(token)))
            case .catchingUp: RedisCommand("ZADD", key, "7", channel)
            case .newFollower: RedisCommand("ZADD", key, "1795000000000", channel)
            }
        try await fixture.store.redis.send(command)
    }

    /// Few marks are read as a whole, and of many only those of the page.
    @Test(arguments: SendBlock.allCases, [0, 50])
    func `a mark is found among few and among many`(mark: SendBlock, others: Int) async throws {
        let fixture = try await PushFixture.start()
        try await fixture.track("match-1", count: 8)
        let (unmarked, _) = try await page(fixture)
        try await write(mark, fixture, unmarked.channel(3), unmarked.token(3))
        for other in 0..<others { try await write(mark, fixture, [1, UInt8(other)], [UInt8(other)]) }
        let (page, counts) = try await page(fixture)
        #expect(counts.marked == [mark: others + 1])
        let marks = try await marks(fixture, page, counts)
        for index in 0..<page.count {
            let isMarked = page.channel(index) == unmarked.channel(3)
            if mark == .newFollower {
                #expect(marks.isBefore(index, Self.end(at: 1_795_000_000_000)) == isMarked)
                #expect(!marks.isBefore(index, Self.end(at: 1_795_000_000_001)))
            } else {
                #expect(marks[index] == (isMarked ? [mark] : []))
            }
        }
    }

    /// Redis walks through a small hash for each field that it looks up: with 100 waiting channels, 3 µs for each token
    /// of a name.
    @Test func `some waiting channels of a large name are not looked up for each token`() async throws {
        let fixture = try await PushFixture.start()
        try await fixture.track("match-1", count: 1_000)
        for other in 0..<100 { try await write(.waiting, fixture, [1, UInt8(other)], []) }
        let (page, counts) = try await page(fixture)
        #expect(page.count > 500)
        _ = try await fixture.store.redis.everywhere("CONFIG", "RESETSTAT")
        #expect(try await marks(fixture, page, counts).isEmpty)
        let calls = try await fixture.store.redis.callsOfTheStore()
        #expect(calls["hkeys"] == 1 && calls["hmget"] == nil, "\(calls)")
    }
}
