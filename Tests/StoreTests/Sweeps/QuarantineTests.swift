import LiveActivity
import Redis
import Synchronization
import TestSupport
import Testing

@testable import Store
@testable import StoreDeliveries

/// Tests tokens in quarantine until an operator decides, and the alarm that lasts as long.
@Suite struct QuarantineTests {
    /// A store with its own clock.
    private struct Fixture {
        static let start: Int64 = 1_795_000_000_000
        let server: RedisServer
        let store: Store
        let time: Time
        let app = try! AppKey("shop")

        final class Time: Sendable {
            private let value = Mutex(Fixture.start)
            var now: Int64 { value.withLock { $0 } }
            func pass(_ duration: Duration) { value.withLock { $0 += duration.milliseconds } }
        }

        init() async throws {
            server = try await RedisServer.start()
            let time = Time()
            self.time = time
            store = Store(
                redis: RedisClient(url: server.url, scripts: Store.scripts, logger: .quiet), clock: { time.now })
        }

        /// Channels that follow a name, each in quarantine, as a worker leaves them.
        @discardableResult
        func quarantined(_ count: Int, under name: ActivityName, isTracked: Bool = true) async throws -> [ChannelID] {
            let channels = (0..<count).map { _ in ChannelID.random() }
            if isTracked {
                let registrations = channels.map {
                    Registration(channel: $0, token: Self.token($0), registeredAt: Self.start - 1_000)
                }
                _ = try await store.registry.track(app, .activity(name), registrations)
            }
            try await store.quarantine.enlist(app, .activity(name))
            let marks = channels.flatMap { channel -> [RedisArgument] in
                let mark = QuarantineMark(
                    reason: "BadDeviceToken", since: Self.start, token: Self.token(channel).bytes)
                return [.bytes(channel.stored), .bytes(mark.storedValue)]
            }
            try await store.redis.send(RedisCommand("HSET", key(name), marks))
            return channels
        }

        func key(_ name: ActivityName) -> RedisKey { store.keys.quarantine(store.keys.tag(app, name)) }
        static func token(_ channel: ChannelID) -> PushToken { PushToken(bytes: channel.stored.reversed())! }

        func tokens(_ name: ActivityName) async throws -> Int {
            try await store.names.info(app, name)?.tokens ?? 0
        }
    }

    @Test func `a mark says what and since when`() throws {
        let mark = QuarantineMark(reason: "BadDeviceToken", since: 1_795_000_000_000, token: [1, 2, 3])
        let stored = mark.storedValue
        #expect(stored.prefix(9) == [0, 0, 1, 0xA1, 0xEE, 0x56, 0x5E, 0, 14] && stored.suffix(3) == [1, 2, 3])
        #expect(QuarantineMark(storedValue: stored[...]) == mark)
        for length in [0, 8, 9, 22, 23] { #expect(QuarantineMark(storedValue: stored.prefix(length)) == nil) }
    }

    @Test func `what is released is forgotten and nothing else`() async throws {
        let fixture = try await Fixture()
        let (first, second) = (try ActivityName("match-1"), try ActivityName("match-2"))
        try await fixture.quarantined(5, under: first)
        fixture.time.pass(.seconds(1))
        try await fixture.quarantined(3, under: second)
        let listed = try await fixture.store.quarantine.list(fixture.app, limit: 10)
        #expect(listed.map(\.place) == [.activity(first), .activity(second)] && listed.map(\.tokens) == [5, 3])
        #expect(listed[0].reasons == ["BadDeviceToken"] && listed[0].since == Fixture.start)

        let released = try await fixture.store.quarantine.release(fixture.app, .activity(first))
        #expect(released.names == 1 && released.released == 5)
        #expect(try await fixture.store.quarantine.list(fixture.app, limit: 10).map(\.place) == [.activity(second)])
        #expect(try await fixture.tokens(first) == 5)
        #expect(try await fixture.store.quarantine.release(fixture.app, .activity(first)).names == 0)
        #expect(try await fixture.store.quarantine.release(fixture.app, nil).released == 3)
        #expect(try await fixture.store.quarantine.count(fixture.app) == 0)
    }

    @Test func `discarding prunes only the very tokens`() async throws {
        let fixture = try await Fixture()
        let name = try ActivityName("match-1")
        let channels = try await fixture.quarantined(2_500, under: name)
        let rotated = Registration(
            channel: channels[0], token: try PushToken(hex: "00ff00ff"), registeredAt: Fixture.start)
        _ = try await fixture.store.registry.track(fixture.app, .activity(name), [rotated])
        try await fixture.store.registry.untrack(
            fixture.app, .activity(name), [Untrack(channel: channels[1], removedAt: Fixture.start)])
        try await fixture.store.redis.send(RedisCommand("HSET", fixture.key(name), "nonsense", "x"))
        let result = try await fixture.store.quarantine.discard(fixture.app, nil)
        #expect(result == QuarantineResult(names: 1, released: 0, pruned: 2_498, newer: 1, gone: 1))
        #expect(try await fixture.tokens(name) == 1)
        #expect(try await fixture.store.quarantine.list(fixture.app, limit: 10).isEmpty)
        #expect(try await fixture.store.redis.send(RedisCommand("EXISTS", fixture.key(name))).integer() == 0)
    }

    @Test func `the alarm stands as long as anything is held back`() async throws {
        let fixture = try await Fixture()
        let name = try ActivityName("match-1")
        try await fixture.quarantined(2, under: name)
        try await fixture.store.alarms.raise(fixture.app, .pruneGuard, "2 of 2 answers")
        // The alarm is not raised again, because no worker runs.
        fixture.time.pass(.seconds(7_200))
        let standing = try await fixture.store.alarms.list([fixture.app])
        #expect(standing.map(\.kind) == [.pruneGuard] && standing[0].since == Fixture.start)
        #expect(standing[0].reason == "2 of 2 answers; tokens are quarantined under 1 name")
        _ = try await fixture.store.quarantine.release(fixture.app, nil)
        #expect(try await fixture.store.alarms.list([fixture.app]).isEmpty)
        try await fixture.store.alarms.raise(fixture.app, .pruneGuard, "2 of 2 answers")
        #expect(try await fixture.store.alarms.list([fixture.app]).isEmpty, "nothing is held back")
    }

    @Test func `the alarm stands though its details are lost`() async throws {
        let fixture = try await Fixture()
        try await fixture.quarantined(2, under: try ActivityName("a"))
        try await fixture.quarantined(2, under: try ActivityName("b"))
        let standing = try await fixture.store.alarms.list([fixture.app])
        #expect(standing.map(\.reason) == ["tokens are quarantined under 2 names"])
        fixture.time.pass(Quarantine.life(.activity(try ActivityName("a"))) + .seconds(1))
        #expect(try await fixture.store.alarms.list([fixture.app]).isEmpty, "the marks have expired")
        #expect(try await fixture.store.quarantine.list(fixture.app, limit: 10).isEmpty)
    }

    @Test func `other alarms end when nobody repeats them`() async throws {
        let fixture = try await Fixture()
        let alarms = fixture.store.alarms
        func raise(_ kind: Alarm.Kind, _ reason: String) async throws {
            try await alarms.raise(fixture.app, kind, reason)
        }
        try await raise(.manyUnregistered, "many")
        try await raise(.credentials, "InvalidProviderToken")
        fixture.time.pass(.seconds(600))
        try await raise(.credentials, "BadEnvironmentKeyInToken")
        fixture.time.pass(.seconds(600))
        let left = try await alarms.list([fixture.app])
        #expect(left.map(\.kind) == [.credentials] && left[0].reason == "BadEnvironmentKeyInToken")
        #expect(left[0].since == Fixture.start, "since it was raised first")
        fixture.time.pass(.seconds(600))
        try await raise(.credentials, "again")
        #expect(try await alarms.list([fixture.app])[0].since == fixture.time.now, "it had ended in between")
        try await alarms.clear(fixture.app, .credentials)
        #expect(try await alarms.list([fixture.app]).isEmpty)
    }

    @Test func `an alarm of one platform stands beside the same of another`() async throws {
        let fixture = try await Fixture()
        let alarms = fixture.store.alarms
        let other = AppPlatform(fixture.app, Platform(code: 1))
        try await alarms.raise(AppPlatform(fixture.app, .ios), .credentials, "one")
        try await alarms.raise(other, .credentials, "two")
        let standing = try await alarms.list([fixture.app])
        #expect(standing.map(\.kind) == [.credentials, .credentials] && standing.map(\.reason) == ["one", "two"])
        #expect(standing.map(\.platform) == [.ios, other.platform])
        try await alarms.clear(AppPlatform(fixture.app, .ios), .credentials)
        #expect(try await alarms.list([fixture.app]).map(\.platform) == [other.platform])
        try await alarms.clear(other, .credentials)
        #expect(try await alarms.list([fixture.app]).isEmpty)
    }

    @Test func `answers of the last minutes are counted by the whole fleet`() async throws {
        let fixture = try await Fixture()
        let (verdicts, key) = (fixture.store.tokenVerdicts, AppPlatform(fixture.app, .ios))
        let span = TokenVerdictSpan(window: 10, memory: 10, least: 20)
        _ = try await verdicts.add(
            key,
            [
                (age: 0, counts: TokenVerdictCounts(answers: 10, dead: 4, gone: 1)),
                (age: 3, counts: TokenVerdictCounts(answers: 100, dead: 0, gone: 2)),
                (age: 30, counts: TokenVerdictCounts(answers: 1_000, dead: 1_000)),
            ], over: span)
        let sum = try await verdicts.add(
            key, [(age: 0, counts: TokenVerdictCounts(answers: 5, dead: 5))], over: span)
        #expect(sum.app == TokenVerdictCounts(answers: 115, dead: 9, gone: 3) && sum.lately == sum.app)
        let place = fixture.store.keys.verdicts(key)
        let fields = try await fixture.store.redis.send(RedisCommand("HLEN", place)).integer()
        #expect(fields <= 8, "minutes that do not count are forgotten: \(fields)")
        #expect(try await fixture.store.redis.send(RedisCommand("PTTL", place)).integer() <= 1_200_000)
        let other = try await verdicts.add(AppPlatform(try AppKey("other"), .ios), [], over: span)
        #expect(other == TokenVerdictSums())
        let elsewhere = try await verdicts.add(AppPlatform(fixture.app, Platform(code: 1)), [], over: span)
        #expect(elsewhere == TokenVerdictSums(), "another platform's answers are counted apart")
    }

    /// The app gets only a few answers a minute, so no window of minutes holds enough of them.
    @Test func `the last answers count, however slowly they come`() async throws {
        let fixture = try await Fixture()
        let (verdicts, key) = (fixture.store.tokenVerdicts, AppPlatform(fixture.app, .ios))
        let span = TokenVerdictSpan(window: 10, memory: 1_440, least: 200)
        // Report them as a worker does, minute by minute, the latest last.
        var sums = TokenVerdictSums()
        for age in (0..<40).reversed() {
            sums = try await verdicts.add(
                key, [(age: age, counts: TokenVerdictCounts(answers: 19, dead: age < 30 ? 19 : 0))], over: span)
        }
        #expect(sums.app.answers <= 190 && sums.app.dead == sums.app.answers)
        #expect((200...400).contains(sums.lately.answers) && sums.lately.dead == sums.lately.answers)
        let longest = TokenVerdictSpan(window: 10, memory: 1_440, least: 10_000)
        sums = try await verdicts.add(key, [], over: longest)
        #expect(sums.lately == TokenVerdictCounts(answers: 760, dead: 570), "each is counted once")
        _ = try await verdicts.add(key, [(age: 1_500, counts: TokenVerdictCounts(answers: 5))], over: longest)
        let place = fixture.store.keys.verdicts(key)
        let fields = try await fixture.store.redis.send(RedisCommand("HLEN", place)).integer()
        #expect(fields <= 2 * (10 + 5), "older minutes are ten in one: \(fields)")
    }

    /// A million good answers of one platform hide no wrong key of the other.
    @Test func `the verdicts on a push are those of one platform`() async throws {
        let it = try await Fixture()
        let (name, push) = (try ActivityName("cup-final"), PushID.random())
        let ledger = it.store.keys.push(it.store.keys.tag(it.app, name), push)
        try await it.store.redis.send(
            RedisCommand(
                "HSET", ledger,
                [
                    "delivered", "1000", "delivered@1", "900", "e:BadDeviceToken", "150", "e:UNREGISTERED", "40",
                ]))
        func verdicts(
            _ platform: Platform, dead: [String], gone: [String]
        ) async throws -> TokenVerdictCounts? {
            let span = TokenVerdictSpan(window: 10, memory: 60, least: 0)
            let sums = try await it.store.tokenVerdicts.add(
                AppPlatform(it.app, platform), [], over: span, pushes: [push], of: name, (dead: dead, gone: gone))
            return sums.pushes[push]
        }
        let apple = try await verdicts(.ios, dead: ["BadDeviceToken"], gone: ["Unregistered"])
        #expect(apple == TokenVerdictCounts(answers: 250, dead: 150))
        let google = try await verdicts(.android, dead: ["SENDER_ID_MISMATCH"], gone: ["UNREGISTERED"])
        #expect(google == TokenVerdictCounts(answers: 940, gone: 40))
    }
}
