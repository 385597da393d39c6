import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store

/// Registrations that are stored together, by `registry-join`. Whatever the name is doing, they have the effects that
/// they have one by one, by the rules of `registry-set`.
@Suite struct JoinTests {
    /// Things that may be going on at a name when the registrations come.
    private enum Presence: CaseIterable {
        case nothing, ended, ending, sweep, begun, state, states, started, lateJoiner, waiting

        func put(_ fixture: RegistryFixture, _ tag: String, _ channels: [ChannelID]) async throws {
            let (keys, time) = (fixture.keys, fixture.time.now)
            let push = "00000000-0000-7000-8000-000000000001"
            let first = RedisArgument.bytes(channels[0].stored)
            func set(_ key: RedisKey, _ field: RedisArgument, _ value: RedisArgument) async throws {
                _ = try await fixture.command("HSET", key, field, value)
            }
            switch self {
            case .nothing: break
            case .ended: try await set(keys.name(tag), "ended", .int(time - 1_800_000))
            case .ending: try await set(keys.name(tag), "ending", .int(time - 1_800_000))
            case .sweep: try await set(keys.name(tag), "catch", .bytes([UInt8](repeating: 7, count: 16)))
            case .begun: try await set(keys.name(tag), "begun", "5")
            // Redis's own clock says whether it is too old.
            case .state: try await set(keys.name(tag), "newest", .string("5 update \(push) 9999999999999"))
            case .states: try await set(keys.contentStates(tag), "*", .string("5 update \(push)"))
            case .started: try await set(keys.startedChannels(tag), first, .string("3 \(time - 3_600_000)"))
            case .lateJoiner: try await set(keys.lateJoiners(tag), first, "4 0")
            case .waiting: try await set(keys.retryQueues(tag), first, .bytes([UInt8](repeating: 0, count: 40)))
            }
        }
    }

    private func registration(
        of channels: [ChannelID], at now: Int64, _ random: inout TestRandom
    ) -> Registration {
        let at = now - Int64.random(in: 0...4, using: &random) * 1_200_000
        let age = [nil, 0, 3_600_000, 9 * 3_600_000, -7_200_000].randomElement(using: &random)! as Int64?
        return Registration(
            channel: channels.randomElement(using: &random)!, token: .test(.random(in: 1...3, using: &random)),
            registeredAt: at, startedAt: age.map { at - $0 },
            activityID: [nil, "A", "B"].randomElement(using: &random)!, wantsState: .random(using: &random))
    }

    /// All that is stored about the name, without the times that Redis's clock gave, and without the order by them.
    private func dump(_ fixture: RegistryFixture, _ tag: String) async throws -> [String: [String]] {
        let keys = fixture.keys
        var all: [String: [String]] = [:]
        let hashes = [
            keys.root(tag), keys.retryQueues(tag), keys.contentStates(tag), keys.lateJoiners(tag),
            keys.startedChannels(tag),
        ]
        for key in hashes {
            let pairs = try await fixture.command("HGETALL", key).array().map { Array(try $0.bytes()) }
            let fields = stride(from: 0, to: pairs.count, by: 2).map { "\(pairs[$0]) \(pairs[$0 + 1])" }
            all[key.description.replacing(tag, with: "")] = fields.sorted()
        }
        all["n"] = try await fixture.command("HKEYS", keys.name(tag)).array().map { try $0.string() }.sorted()
        for key in [keys.newFollowers(tag), keys.catchUp(tag)] {
            all[key.description.replacing(tag, with: "")] = try await fixture.command("ZRANGE", key, "0", "-1")
                .array().map { "\(Array(try $0.bytes()))" }.sorted()
        }
        return all
    }

    @Test(arguments: 0..<8)
    func `together they have the effects that they have one by one`(seed: UInt64) async throws {
        try await RegistryFixture.run { fixture in
            var random = TestRandom(seed: seed)
            for round in 0..<40 {
                let (one, all) = (try ActivityName("one-\(round)"), try ActivityName("all-\(round)"))
                let channels = (0..<4).map { _ in ChannelID.random() }
                let presence = Presence.allCases.shuffled(using: &random).prefix(.random(in: 0...2, using: &random))
                let before = (0..<Int.random(in: 0...3, using: &random)).map { _ in
                    registration(of: channels, at: fixture.time.now, &random)
                }
                let crowd = (0..<Int.random(in: 2...9, using: &random)).map { _ in
                    registration(of: channels, at: fixture.time.now, &random)
                }
                var results: [RegistrationResult] = []
                for name in [one, all] {
                    for registration in before {
                        _ = try await fixture.registry.track(fixture.app, .activity(name), [registration])
                    }
                    for what in presence { try await what.put(fixture, fixture.keys.tag(fixture.app, name), channels) }
                }
                for registration in crowd {
                    results += try await fixture.registry.track(fixture.app, .activity(one), [registration])
                }
                let together = try await fixture.registry.track(fixture.app, .activity(all), crowd)
                #expect(together == results, "\(presence) \(before) \(crowd)")
                let dumps = (
                    try await dump(fixture, fixture.keys.tag(fixture.app, all)),
                    try await dump(fixture, fixture.keys.tag(fixture.app, one))
                )
                #expect(dumps.0 == dumps.1, "\(presence) \(before) \(crowd)")
            }
        }
    }

    @Test func `a bucket lives longer for an activity that starts in days`() async throws {
        try await RegistryFixture.run { fixture in
            let later = fixture.time.now + 5 * 86_400_000
            let crowd = (0..<3).map { number in
                Registration(
                    channel: .random(), token: .test(number), registeredAt: fixture.time.now,
                    startedAt: number == 1 ? later : nil)
            }
            _ = try await fixture.registry.track(fixture.app, .activity(fixture.name), crowd)
            let life = try await fixture.command("PTTL", fixture.root).integer()
            #expect(life > 5 * 86_400_000 + 12 * 3_600_000)
            #expect(try await fixture.scan().tokens.count == 3)
        }
    }

    @Test func `a crowd needs a few calls and two commands each, also to rotate its tokens`() async throws {
        try await RegistryFixture.run { fixture in
            let count = 5_000
            func crowd(_ token: Int) -> [Registration] {
                (0..<count).map { number in
                    Registration(
                        channel: .numbered(number), token: .test(token + number), registeredAt: fixture.time.now)
                }
            }
            for token in [0, count] {
                try await fixture.redis.everywhere("CONFIG", "RESETSTAT")
                let results = try await fixture.registry.track(fixture.app, .activity(fixture.name), crowd(token))
                #expect(results.allSatisfy { $0 == .stored })
                let calls = try await fixture.redis.calls()
                let scripts = try #require(calls["evalsha"])
                let splits = try await fixture.buckets()
                // A split moves its records, each with a read and two writes.
                let sum = calls.values.reduce(0, +) - (token == 0 ? 3 * count : 0)
                #expect(scripts < 2 * count / 100 + 2 * splits && sum < 2 * count, "\(calls)")
            }
            #expect(try await fixture.scan().tokens.count == count)
        }
    }
}
