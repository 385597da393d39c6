import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store

/// A new name that gets its buckets before its many registrations come. The announced number is a guess.
@Suite struct ImportTests {
    private func registrations(_ numbers: Range<Int>, _ fixture: RegistryFixture) -> [Registration] {
        numbers.map { Registration(channel: .numbered($0), token: .test($0), registeredAt: fixture.time.now) }
    }

    private func track(
        _ numbers: Range<Int>, announced: Int = 0, by registry: Registry? = nil, _ fixture: RegistryFixture
    ) async throws {
        let results = try await (registry ?? fixture.registry).track(
            fixture.app, .activity(fixture.name), registrations(numbers, fixture), announced: announced)
        #expect(results.count == numbers.count && results.allSatisfy { $0 == .stored })
    }

    private func expectTokens(_ count: Int, _ fixture: RegistryFixture) async throws {
        let found = try await fixture.scan()
        #expect(found.repeated.isEmpty && found.tokens.count == count)
        #expect((0..<count).allSatisfy { found.tokens[ChannelID.numbered($0).stored] == PushToken.test($0).bytes })
    }

    @Test func `an announced import divides next to no bucket, and takes less than two commands a line`() async throws {
        try await RegistryFixture.run { fixture in
            let count = 24_000
            try await fixture.redis.everywhere("CONFIG", "RESETSTAT")
            for start in stride(from: 0, to: count, by: Registry.mostAtOnce) {
                try await track(start..<start + Registry.mostAtOnce, announced: count - start, fixture)
            }
            let calls = try await fixture.redis.calls()
            let splits = try await fixture.buckets() - BucketCount.number(for: count)
            #expect((0...16).contains(splits), "\(splits)")
            // One script for a hundred lines; its commands are for eight lines of a bucket each. One note a line.
            #expect(try #require(calls["evalsha"]) < count / 100 + 4 * splits + 20, "\(calls)")
            #expect(calls.values.reduce(0, +) < 2 * count, "\(calls)")
            #expect(try #require(calls["hmget"]) < count / 5 && #require(calls["hset"]) < count + count / 5, "\(calls)")
            try await expectTokens(count, fixture)
        }
    }

    @Test(arguments: [
        (0, 1), (1, 1), (128, 1), (129, 2), (200, 2), (201, 4), (200_000, 2_048), (204_800, 2_048), (204_801, 4_096),
        (.max, 16_384), (-1, 1),
    ])
    func `buckets for a number of tokens`(tokens: Int, buckets: Int) {
        #expect(BucketCount.number(for: tokens) == buckets)
    }

    @Test(arguments: [1, 2, 50, 3_000])
    func `fewer lines than announced are found, and more can come`(count: Int) async throws {
        try await RegistryFixture.run { fixture in
            try await track(0..<count, announced: 20_000, fixture)
            #expect(try await fixture.buckets() == 256)
            try await expectTokens(count, fixture)
            let names = fixture.registry.names
            #expect(try await names.page(fixture.app, prefix: "", after: nil, limit: 10) == [fixture.name])
            try await track(count..<count + 300, announced: 1_000_000, by: fixture.otherRegistry(), fixture)
            try await expectTokens(count + 300, fixture)
            #expect(try await fixture.buckets() == 256)
        }
    }

    @Test func `more lines than announced divide the buckets`() async throws {
        try await RegistryFixture.run { fixture in
            try await track(0..<6_000, announced: 150, fixture)
            #expect(try await fixture.buckets() > 40)
            try await expectTokens(6_000, fixture)
        }
    }

    @Test(arguments: [2, 3, 200, 256])
    func `a name of one bucket has its tokens in the new ones`(buckets: Int) async throws {
        try await RegistryFixture.run { fixture in
            let place = fixture.keys.place(fixture.app, .activity(fixture.name))
            try await track(0..<128, fixture)
            _ = try await fixture.command("PEXPIRE", fixture.root, "40000000")
            try await fixture.redis.everywhere("CONFIG", "RESETSTAT")
            try await fixture.registry.buckets.make(buckets, in: place)
            let calls = try await fixture.redis.calls()
            #expect(try #require(calls["hset"]) <= min(buckets, 128) + 1 && calls["hgetall"] == 1, "\(calls)")
            #expect(try await fixture.buckets() == buckets)
            for key in try await fixture.redis.keys(fixture.keys.root("*")) {
                #expect(try await (39_000_000...40_000_000).contains(fixture.command("PTTL", key).integer()))
            }
            try await expectTokens(128, fixture)
            // They are found where they are: a rotation replaces them.
            try await track(0..<200, by: fixture.otherRegistry(), fixture)
            try await expectTokens(200, fixture)
        }
    }

    @Test func `a name of several buckets keeps them`() async throws {
        try await RegistryFixture.run { fixture in
            try await track(0..<1_000, fixture)
            let buckets = try await fixture.buckets()
            try await track(0..<60, announced: 20_000, by: fixture.otherRegistry(), fixture)
            try await fixture.otherRegistry().buckets.make(
                256, in: fixture.keys.place(fixture.app, .activity(fixture.name)))
            #expect(try await fixture.buckets() == buckets && buckets > 1)
            try await expectTokens(1_000, fixture)
        }
    }

    @Test func `two imports of a new name at once`() async throws {
        try await RegistryFixture.run { fixture in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (half, announced) in [(0, 40_000), (1, 10_000), (2, 0)] {
                    let registry = fixture.otherRegistry()
                    group.addTask {
                        try await self.track(
                            half * 1_500..<(half + 1) * 1_500, announced: announced, by: registry, fixture)
                    }
                }
                try await group.waitForAll()
            }
            try await expectTokens(4_500, fixture)
        }
    }

    @Test func `a process that dies after it made the buckets leaves nothing to repair`() async throws {
        try await RegistryFixture.run { fixture in
            try await fixture.otherRegistry().buckets.make(
                256, in: fixture.keys.place(fixture.app, .activity(fixture.name)))
            #expect(try await fixture.command("PTTL", fixture.root).integer() > 12 * 3_600_000)
            #expect(try await fixture.scan().tokens.isEmpty)
            // A device, and the import once more.
            try await track(0..<1, by: fixture.otherRegistry(), fixture)
            try await track(0..<2_000, announced: 20_000, fixture)
            try await expectTokens(2_000, fixture)
            #expect(try await fixture.buckets() == 256)
        }
    }

    @Test func `a name that its quota refuses gets no buckets`() async throws {
        try await RegistryFixture.run { fixture in
            var registry = fixture.registry
            registry.quotas.limits = [.names: 1, .followers: 150_000]
            #expect(registry.batchSize(of: .activity(fixture.name)) == 1_500)
            #expect(registry.batchSize(of: .startTokens(of: "T")) == Registry.mostAtOnce)
            _ = try await registry.track(fixture.app, .activity(ActivityName("a")), registrations(0..<1, fixture))
            fixture.time.advance(hours: 0.01)
            await #expect(throws: StoreError.quotaReached(.names, limit: 1)) {
                try await track(0..<200, announced: 20_000, by: registry, fixture)
            }
            #expect(try await fixture.buckets() == 0)
        }
    }
}
