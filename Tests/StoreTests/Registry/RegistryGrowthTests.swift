import LiveActivity
import Redis
import Synchronization
import TestSupport
import Testing

@testable import Store

@Suite struct RegistryGrowthTests {
    private func registrations(_ numbers: Range<Int>, _ channels: [ChannelID], at: Int64) -> [Registration] {
        numbers.map { Registration(channel: channels[$0], token: .test($0), registeredAt: at) }
    }

    /// How many entries each bucket has, without the field of the bucket count.
    private func bucketSizes(_ fixture: RegistryFixture) async throws -> [Int] {
        var sizes: [Int] = []
        for index in 0..<(try await fixture.buckets()) {
            let fields = try await fixture.command("HLEN", fixture.keys.bucket(fixture.tag, index)).integer()
            sizes.append(index == 0 ? fields - 1 : fields)
        }
        return sizes
    }

    @Test func `a count that others always change is a lost race, and no damage`() async throws {
        try await RegistryFixture.run { fixture in
            let place = fixture.keys.place(fixture.app, .activity(fixture.name))
            var rounds = 0
            await #expect(throws: StoreError.overtaken) {
                try await fixture.registry.buckets.withCount(place) { _ throws(StoreError) -> Int? in
                    rounds += 1
                    return nil
                }
            }
            #expect(rounds == Buckets.countAttempts && StoreError.overtaken.isPassing)
            // While the name grows, it goes on.
            rounds = 0
            let last = try await fixture.registry.buckets.withCount(place) { count throws(StoreError) -> Int? in
                rounds += 1
                fixture.registry.buckets.memory.remember(
                    place.key, BucketCount(buckets: count.buckets + 1, fingerprint: count.fingerprint))
                return rounds > 3 * Buckets.countAttempts ? count.buckets : nil
            }
            #expect(last == rounds)
        }
    }

    /// The name grows from 1 token to 20,000. Two processes write and three read at the same time.
    @Test func `scans miss nothing and repeat nothing while the name grows`() async throws {
        try await RegistryFixture.run { fixture in
            let total = 20_000
            let channels = (0..<total).map { _ in ChannelID.random() }
            let numberOf = Dictionary(uniqueKeysWithValues: channels.enumerated().map { ($1.stored, $0) })
            let written = [Progress(), Progress()]
            let now = fixture.time.now

            try await withThrowingTaskGroup(of: Int.self) { group in
                for half in 0..<2 {
                    let registry = fixture.otherRegistry()
                    group.addTask {
                        let base = half * total / 2
                        var done = 0
                        var size = 1
                        while done < total / 2 {
                            let next = min(done + size, total / 2)
                            let results = try await registry.track(
                                fixture.app, .activity(fixture.name),
                                self.registrations(base + done..<base + next, channels, at: now))
                            #expect(results.allSatisfy { $0 == .stored })
                            done = next
                            written[half].value = done
                            size = min(size * 2, 700)
                        }
                        return 0
                    }
                }
                for reader in 0..<3 {
                    let registry = fixture.otherRegistry()
                    group.addTask {
                        var scans = 0
                        while !Task.isCancelled, written.contains(where: { $0.value < total / 2 }) {
                            let before = written.map(\.value)
                            let found = try await fixture.scan(registry, limit: [40, 700, 5_000][reader])
                            #expect(found.repeated.isEmpty)
                            let seen = Set(found.tokens.keys.compactMap { numberOf[$0] })
                            #expect(seen.count == found.tokens.count)
                            for half in 0..<2 {
                                let missed = (half * total / 2..<half * total / 2 + before[half]).filter {
                                    !seen.contains($0)
                                }
                                #expect(missed.isEmpty, "\(missed.count) missed")
                            }
                            scans += 1
                        }
                        return scans
                    }
                }
                var scans = 0
                for try await count in group { scans += count }
                #expect(scans > 3)
            }

            let found = try await fixture.scan()
            #expect(found.tokens.count == total && found.repeated.isEmpty)
            #expect(
                found.tokens.allSatisfy { channel, token in numberOf[channel].map { PushToken.test($0).bytes } == token
                })
            let sizes = try await bucketSizes(fixture)
            #expect(sizes.reduce(0, +) == total)
            #expect((sizes.max() ?? 0) < 256, "largest bucket \(sizes.max() ?? 0)")
            let average = total / sizes.count
            #expect((70...115).contains(average), "\(average) a bucket")
            for index in [0, 1, sizes.count - 1] {
                let key = fixture.keys.bucket(fixture.tag, index)
                let encoding = try await fixture.command("OBJECT", "ENCODING", .key(key)).string()
                // Redis 6.2 has ziplists.
                #expect(["listpack", "ziplist"].contains(encoding))
                #expect(try await fixture.command("PTTL", key).integer() > 12 * 3_600_000)
            }
            #expect(fixture.registry.buckets.memory.malformed == 0)
        }
    }

    @Test func `a small name is one key`() async throws {
        try await RegistryFixture.run { fixture in
            let channels = (0..<128).map { _ in ChannelID.random() }
            _ = try await fixture.registry.track(
                fixture.app, .activity(fixture.name), registrations(0..<128, channels, at: fixture.time.now))
            #expect(try await fixture.redis.keys(fixture.keys.root("*")).count == 1)
            #expect(try await fixture.buckets() == 1)
        }
    }

    /// Shards are ranges of positions, planned once. The name may have doubled or started again before they are read.
    @Test func `positions survive growth and shrinking`() async throws {
        try await RegistryFixture.run { fixture in
            let (registry, app, name) = (fixture.registry, fixture.app, fixture.name)
            let channels = (0..<6_000).map { _ in ChannelID.random() }
            let now = fixture.time.now
            _ = try await registry.track(app, .activity(name), registrations(0..<2_000, channels, at: now))
            let starts = (0...16).map { (number: UInt64) in ScanPosition(number << 28) }
            let shards = zip(starts, starts.dropFirst()).map { $0..<$1 }

            func readShards(_ registry: Registry) async throws -> [Set<[UInt8]>] {
                var sets: [Set<[UInt8]>] = []
                for shard in shards {
                    let found = try await fixture.scan(
                        registry, from: shard.lowerBound, to: shard.upperBound, limit: 100)
                    #expect(found.repeated.isEmpty)
                    sets.append(Set(found.tokens.keys))
                }
                return sets
            }
            let early = try await readShards(registry)
            #expect(early.map(\.count).reduce(0, +) == 2_000)
            _ = try await registry.track(app, .activity(name), registrations(2_000..<6_000, channels, at: now))
            // One reader still has the old count, and one knows nothing.
            for reader in [registry, fixture.otherRegistry()] {
                let late = try await readShards(reader)
                #expect(late.map(\.count).reduce(0, +) == 6_000)
                #expect(zip(early, late).allSatisfy { $0.isSubset(of: $1) }, "nobody changed the shard")
            }

            // All registrations expire, and the name starts again while its shards are read.
            let buckets = try await fixture.redis.keys(fixture.keys.root("*")).map { RedisArgument.key($0) }
            _ = try await fixture.redis.send(RedisCommand("DEL", buckets))
            for count in [50, 300] {
                _ = try await fixture.otherRegistry().track(
                    app, .activity(name), registrations(0..<count, channels, at: now))
                let reborn = try await readShards(registry)
                #expect(reborn.map(\.count).reduce(0, +) == count)
                #expect(Set(reborn.joined()).count == count)
                #expect(zip(early, reborn).allSatisfy { $1.isSubset(of: $0) }, "nobody changed the shard")
            }
        }
    }

    @Test func `the servers default limits work too`() async throws {
        try await RegistryFixture.run(extra: ["--hash-max-ziplist-value", "64", "--hash-max-ziplist-entries", "128"]) {
            fixture in
            let channels = (0..<2_000).map { _ in ChannelID.random() }
            _ = try await fixture.registry.track(
                fixture.app, .activity(fixture.name), registrations(0..<2_000, channels, at: fixture.time.now))
            let found = try await fixture.scan()
            #expect(found.tokens.count == 2_000 && found.repeated.isEmpty)
            #expect(try await fixture.command("OBJECT", "ENCODING", .key(fixture.root)).string() == "hashtable")
            let prunes = channels.enumerated().map {
                TokenRemoval(channel: $1.stored, token: PushToken.test($0).bytes, deadSince: nil)
            }
            let results = try await fixture.registry.prune(fixture.app, .activity(fixture.name), prunes)
            #expect(results.allSatisfy { $0 == .pruned })
            #expect(try await fixture.registry.names.info(fixture.app, fixture.name) == nil)
        }
    }

    @Test func `foreign channel i ds of all lengths`() async throws {
        try await RegistryFixture.run { fixture in
            let channels =
                try (1...128).map { try ChannelID(String(repeating: "é", count: $0 / 2) + (($0 % 2 == 1) ? "n" : "")) }
                + (0..<300).map { try ChannelID("customer-\($0)") } + [try ChannelID("n"), .random()]
            let distinct = Array(Set(channels))
            _ = try await fixture.registry.track(
                fixture.app, .activity(fixture.name), registrations(0..<distinct.count, distinct, at: fixture.time.now))
            let found = try await fixture.scan()
            #expect(Set(found.tokens.keys.compactMap { ChannelID(stored: $0) }) == Set(distinct))
            #expect(fixture.registry.buckets.memory.malformed == 0)
        }
    }

    @Test func `lives end eight hours after the start`() async throws {
        try await RegistryFixture.run { fixture in
            let (registry, app, name) = (fixture.registry, fixture.app, fixture.name)
            let start = fixture.time.now
            let old = ChannelID.random()
            let young = ChannelID.random()
            _ = try await registry.track(
                app, .activity(name),
                [
                    Registration(channel: old, token: .test(1), registeredAt: start, startedAt: start - 7 * 3_600_000),
                    Registration(channel: young, token: .test(2), registeredAt: start),
                ])
            // A registration lasts a quarter of an hour longer than Apple's eight hours, because clocks differ.
            fixture.time.advance(hours: 1.2)
            #expect(try await fixture.scan().tokens.count == 2)
            fixture.time.advance(hours: 0.1)
            #expect(try await fixture.scan().tokens.keys.map { $0 } == [young.stored])
            // This is a rotation for an activity that is over.
            let late = Registration(
                channel: old, token: .test(3), registeredAt: start + 1, startedAt: start - 7 * 3_600_000)
            #expect(try await registry.track(app, .activity(name), [late]) == [.stale])
            fixture.time.advance(hours: 8)
            #expect(try await registry.names.info(app, name) == nil)

            // Expired registrations do not make a name grow, because they are dropped before a bucket is divided.
            let (first, second) = ((0..<120).map { _ in ChannelID.random() }, (0..<120).map { _ in ChannelID.random() })
            _ = try await registry.track(app, .activity(name), registrations(0..<120, first, at: fixture.time.now))
            fixture.time.advance(hours: 12.5)
            _ = try await registry.track(app, .activity(name), registrations(0..<120, second, at: fixture.time.now))
            #expect(try await fixture.buckets() == 1)
            #expect(try await fixture.command("HLEN", fixture.root).integer() <= 128)
            #expect(Set(try await fixture.scan().tokens.keys) == Set(second.map(\.stored)))
        }
    }

    @Test func `a lost hash key is noticed`() async throws {
        try await RegistryFixture.run { fixture in
            let channels = (0..<1_000).map { _ in ChannelID.random() }
            _ = try await fixture.registry.track(
                fixture.app, .activity(fixture.name), registrations(0..<500, channels, at: fixture.time.now))
            _ = try await fixture.command("DEL", fixture.keys.deployment)
            await #expect(throws: StoreError.self) {
                _ = try await fixture.otherRegistry().track(
                    fixture.app, .activity(fixture.name), registrations(500..<1_000, channels, at: fixture.time.now))
            }
            // The server was emptied while the process runs. The process continues with the empty registry.
            try await fixture.redis.everywhere("FLUSHALL")
            for registry in [fixture.registry, fixture.otherRegistry(), fixture.registry] {
                _ = try await registry.track(
                    fixture.app, .activity(fixture.name), registrations(0..<1_000, channels, at: fixture.time.now))
            }
            #expect(try await fixture.scan().tokens.count == 1_000)
        }
    }
}

/// A number that one task writes and others read.
private final class Progress: Sendable {
    private let number = Mutex(0)
    var value: Int {
        get { number.withLock { $0 } }
        set { number.withLock { $0 = newValue } }
    }
}
