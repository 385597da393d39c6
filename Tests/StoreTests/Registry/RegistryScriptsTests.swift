import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store

/// Tests the scripts with arguments that Swift code never sends, and with keys that other programs may have written.
@Suite struct RegistryScriptsTests {
    private static let zeros = [UInt8](repeating: 0, count: 4)

    private func record(_ flags: UInt8, _ time: UInt8, id: UInt8 = 0, rest: [UInt8]) -> [UInt8] {
        [flags, 0, 0, 0, 0, time, 0, 0] + [0, 0, 0, id] + rest
    }

    @Test func `an outdated count changes nothing and is answered with the right one`() async throws {
        try await RegistryFixture.run { fixture in
            let channel = RedisArgument.bytes(ChannelID.random().stored)
            let (keys, tag, root) = (fixture.keys, fixture.tag, fixture.root)
            let bucket = keys.bucket(tag, 1)
            let value = RedisArgument.bytes(record(0, 1, rest: [9]))
            let calls = [
                RedisCommand(
                    Lua.registrySet,
                    keys: [
                        "b": root, "bucket": bucket, "n": keys.name(tag), "h": keys.retryQueues(tag),
                        "k": keys.catchUp(tag), "y": keys.newFollowers(tag), "v": keys.contentStates(tag),
                        "f": keys.lateJoiners(tag), "a": keys.startedChannels(tag), "r": keys.waitingChannels(tag),
                        "g": keys.beingForgotten(tag),
                    ],
                    [
                        "knownCount": "2:abc", "channel": channel, "record": value, "now": 1, "latest": 1,
                        "life": 1_000,
                        "threshold": 128, "flags": 0,
                    ]),
                RedisCommand(
                    Lua.registryRemove,
                    keys: ["b": root, "bucket": bucket, "n": keys.name(tag), "y": keys.newFollowers(tag)],
                    [
                        "knownCount": "2:abc", "channel": channel,
                        "stone": .bytes(record(1, 1, rest: [0, 0, 0, 0, 0])), "now": 1, "latest": 1, "life": 1_000,
                        "threshold": 128,
                    ]),
                RedisCommand(
                    Lua.registryPrune,
                    keys: ["b": root, "bucket": bucket, "n": keys.name(tag), "y": keys.newFollowers(tag)],
                    ["knownCount": "2:abc", "now": 1, "latest": 1], rest: [channel, "t", "", "0"]),
                RedisCommand(
                    Lua.registrySplit, keys: ["b": root, "full": bucket, "src": root, "dst": keys.bucket(tag, 2)],
                    [
                        "knownCount": "2:abc", "newCount": "3:x", "dstIndex": 2, "modulus": 4, "hashKey": "key",
                        "threshold": 128, "now": 0, "life": 0, "kept": 0,
                    ]),
            ]
            for stored in [nil, "5:abc"] as [String?] {
                if let stored { _ = try await fixture.command("HSET", root, "n", .string(stored)) }
                for (index, call) in calls.enumerated() {
                    let reply = try await fixture.redis.send(call)
                    #expect(reply.count == 1, "call \(index)")
                    #expect(try reply[0].string() == stored ?? "1")
                }
                #expect(try await fixture.redis.keyCount() == (stored == nil ? 0 : 1))
            }
        }
    }

    @Test func `what nobody wrote is overwritten and never counted`() async throws {
        try await RegistryFixture.run { fixture in
            let (registry, app, name) = (fixture.registry, fixture.app, fixture.name)
            let broken: [[UInt8]] = [
                [], [0], [1], Array("hello".utf8), record(0, 1, rest: []), record(8, 1, rest: [1, 2, 3]),
                record(1, 1, rest: []), record(5, 1, rest: [1]), record(0x10, 1, rest: [7]),
                record(0, 1, rest: [UInt8](repeating: 1, count: 600)), [0xFF],
            ]
            let channels = broken.map { _ in ChannelID.random() }
            for (channel, value) in zip(channels, broken) {
                _ = try await fixture.command("HSET", fixture.root, .bytes(channel.stored), .bytes(value))
            }
            _ = try await fixture.command("HSET", fixture.root, "field", "value")
            let good = ChannelID.random()
            _ = try await registry.track(
                app, .activity(name), [Registration(channel: good, token: .test(1), registeredAt: fixture.time.now)])
            #expect(try await fixture.scan().tokens.keys.map { $0 } == [good.stored])
            #expect(registry.buckets.memory.malformed > 0)

            let prunes = channels.map { TokenRemoval(channel: $0.stored, token: [1], deadSince: nil) }
            _ = try await registry.prune(app, .activity(name), prunes)
            let now = fixture.time.now
            let results = try await registry.track(
                app, .activity(name), channels.map { Registration(channel: $0, token: .test(2), registeredAt: now) })
            #expect(results.allSatisfy { $0 == .stored })
            #expect(try await fixture.scan().tokens.count == broken.count + 1)
            for (index, channel) in channels.enumerated() {
                let value = broken[index]
                _ = try await fixture.command("HSET", fixture.root, .bytes(channel.stored), .bytes(value))
            }
            try await registry.untrack(app, .activity(name), channels.map { Untrack(channel: $0, removedAt: now) })
            #expect(try await fixture.scan().tokens.keys.map { $0 } == [good.stored])
        }
    }

    @Test func `a broken count or meta is reported or ignored`() async throws {
        try await RegistryFixture.run { fixture in
            let (registry, app, name) = (fixture.registry, fixture.app, fixture.name)
            let registration = Registration(channel: .random(), token: .test(1), registeredAt: fixture.time.now)
            let meta = fixture.keys.name(fixture.tag)
            _ = try await fixture.command("HSET", meta, "ended", "yesterday", "last", "nonsense")
            #expect(try await registry.track(app, .activity(name), [registration]) == [.stored])
            #expect(try await registry.names.info(app, name)?.lastPushID == nil)
            for count in ["0:x", "-1:x", "99999999999:x", "many", ""] {
                _ = try await fixture.command("HSET", fixture.root, "n", .string(count))
                await #expect(throws: StoreError.corrupt("bucket count")) {
                    _ = try await registry.track(app, .activity(name), [registration])
                }
                await #expect(throws: StoreError.corrupt("bucket count")) { _ = try await fixture.scan() }
            }
            _ = try await fixture.command("SET", fixture.root, "not a hash")
            do {
                _ = try await fixture.scan()
                Issue.record("a string was read as a bucket")
            } catch StoreError.redis(.server(let code, _)) {
                #expect(code == "WRONGTYPE")
            }
        }
    }

    @Test func `a bucket is divided only while it is too full`() async throws {
        try await RegistryFixture.run { fixture in
            let key = RegistryHashKey.random()
            let (root, second) = (fixture.root, fixture.keys.bucket(fixture.tag, 1))
            let now = RegistryRecord.stamp(fixture.time.now)
            func split() async throws -> Int {
                let call = RedisCommand(
                    Lua.registrySplit, keys: ["b": root, "full": root, "src": root, "dst": second],
                    [
                        "knownCount": "1", "newCount": "2:f", "dstIndex": 1, "modulus": 2, "hashKey": .bytes(key.bytes),
                        "threshold": 128, "now": .int(now), "life": .int(RegistryRecord.Lifetime.activity.length),
                        "kept": .int(RegistryRecord.Lifetime.activity.retention),
                    ])
                return try await fixture.redis.send(call).integer()
            }
            #expect(try await split() == 0)
            for _ in 0..<128 {
                let value = try #require(
                    RegistryRecord.encode(
                        Registration(channel: .random(), token: .test(1), registeredAt: fixture.time.now),
                        now: fixture.time.now))
                _ = try await fixture.command("HSET", root, .bytes(ChannelID.random().stored), .bytes(value.value))
            }
            #expect(try await split() == 0)
            _ = try await fixture.command("HSET", second, "leftover", "of an older time")
            // Add a malformed entry. It is dropped, so the bucket is still not too full.
            _ = try await fixture.command("HSET", root, "junk", "junk")
            #expect(try await split() == 0)
            let value = try #require(
                RegistryRecord.encode(
                    Registration(channel: .random(), token: .test(1), registeredAt: fixture.time.now),
                    now: fixture.time.now))
            _ = try await fixture.command("HSET", root, .bytes(ChannelID.random().stored), .bytes(value.value))
            _ = try await fixture.command("PEXPIRE", root, 5_000_000)
            #expect(try await split() == 1)
            #expect(try await fixture.command("HGET", root, "n").string() == "2:f")
            let sizes = [
                try await fixture.command("HLEN", root).integer() - 1,
                try await fixture.command("HLEN", second).integer(),
            ]
            #expect(sizes.reduce(0, +) == 129 && sizes.allSatisfy { $0 > 20 })
            #expect(try await fixture.command("HEXISTS", second, "leftover").integer() == 0)
            #expect((4_000_000...5_000_000).contains(try await fixture.command("PTTL", second).integer()))
            #expect((4_000_000...5_000_000).contains(try await fixture.command("PTTL", root).integer()))
            for (bucket, key_) in [(0, root), (1, second)] {
                for field in try await fixture.command("HKEYS", key_).array() where try field.bytes().count == 16 {
                    #expect(Int(key.hash(Array(try field.bytes()))) & 1 == bucket, "Swift and Lua disagree on the hash")
                }
            }
        }
    }
}

/// Tests the arithmetic of buckets and positions, without Redis.
@Suite struct RegistryBucketsTests {
    @Test func `every hash has one bucket and splitting moves only its upper half`() throws {
        let key = RegistryHashKey.random()
        var count = BucketCount.one
        let hashes = (0..<500).map { _ in UInt32.random(in: .min ... .max) }
        for buckets in 1..<300 {
            #expect(count.buckets == buckets)
            #expect(BucketCount(stored: count.stored.utf8) == count)
            let grown = count.grown(by: key)
            for hash in hashes {
                let (before, after) = (count.bucket(of: hash), grown.bucket(of: hash))
                #expect(before < buckets)
                #expect(after == before || (before == count.nextSource && after == buckets))
            }
            count = grown
        }
    }

    @Test func `a step reads the buckets of its positions and no others`() throws {
        let key = RegistryHashKey.random()
        var count = BucketCount.one
        for buckets in 1...70 {
            var position: UInt64 = 0
            var read: Set<Int> = []
            while position < 1 << 32 {
                let step = ScanStep(count, from: position, end: 1 << 32, tokens: 300, density: 90)
                #expect(step.positions.lowerBound == position && step.isWhole(count))
                for hash in (0..<200).map({ _ in UInt32.random(in: .min ... .max) }) {
                    let inside = step.positions.contains(UInt64(hash.bitReversed))
                    #expect(inside == step.buckets.contains(count.bucket(of: hash)))
                }
                let existing = step.buckets.filter { $0 < buckets }
                #expect(read.isDisjoint(with: existing))
                read.formUnion(existing)
                position = step.positions.upperBound
            }
            #expect(read == Set(0..<buckets))
            count = count.grown(by: key)
        }
        #expect(UInt32(1).bitReversed == 1 << 31 && UInt32(0xF0F0_1234).bitReversed.bitReversed == 0xF0F0_1234)
    }

    @Test func `records have their exact bytes`() throws {
        let now = RegistryRecord.epoch + 0x01_0203_0405
        let channel = ChannelID.random()
        var registration = Registration(
            channel: channel, token: try PushToken(hex: "c0ffee"), registeredAt: now + 99,
            startedAt: now - 3 * 60_000 - 1,
            activityID: "abc", frequentPushesEnabled: false)
        // The SHA-1 of "abc" begins with a9 99 3e.
        let value = try #require(RegistryRecord.encode(registration, now: now)).value
        #expect(value == [2, 1, 2, 3, 4, 5, 1, 0xA9, 0x99, 0x3E, 0xC0, 0xFF, 0xEE])
        registration.token = try PushToken(text: "a:b", of: Platform(code: 2))
        let text = try #require(RegistryRecord.encode(registration, now: now)).value
        #expect(text == [0x42, 1, 2, 3, 4, 5, 1, 0xA9, 0x99, 0x3E, 0x61, 0x3A, 0x62])
        for (value, code) in [(value, UInt8(0)), (text, 2)] {
            let reading = RegistryRecord.read(value[...], now: now)
            guard case .live(let offset, _, let isInfrequent, _, let platform) = reading else {
                Issue.record("cannot be read")
                continue
            }
            #expect(offset == 10 && isInfrequent && platform == Platform(code: code))
        }
        registration.startedAt = now - 13 * 3_600_000
        #expect(RegistryRecord.encode(registration, now: now) == nil)
        let stone = RegistryRecord.encode(Untrack(channel: channel, removedAt: now, activityID: nil), now: now)
        #expect(stone == [1, 1, 2, 3, 4, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    }
}
