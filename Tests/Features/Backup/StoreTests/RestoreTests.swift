import LiveActivity
import Redis
import Synchronization
import TestSupport
import Testing

@testable import Store

/// Backups of what an app has, and their return into the same and into other deployments.
@Suite struct RestoreTests {
    /// A deployment of its own, with a clock that a test moves.
    private struct Deployment {
        let server: RedisServer
        let redis: RedisClient
        let store: Store
        let app: AppKey

        static func start(_ time: TestTime) async throws -> Deployment {
            let server = try await RedisServer.start()
            let redis = RedisClient(url: server.url, scripts: Store.scripts, logger: .quiet)
            let store = Store(
                redis: redis, channelLife: .seconds(1_000_000), machine: { time.now }, clock: { time.now })
            return Deployment(server: server, redis: redis, store: store, app: try AppKey("shop"))
        }

        func backup() async throws -> [BackupEntry] {
            let found = Found()
            try await store.backup.read(app) { found.entries += $0 }
            return found.entries
        }

        /// - Parameter size: entries of one call
        @discardableResult
        func restore(_ entries: [BackupEntry], by size: Int = 7) async throws -> RestoreCounts {
            var counts = RestoreCounts()
            for part in entries.parts(of: size) {
                counts += try await store.restore(endAfter: .seconds(3_600)).write(app, Array(part))
            }
            return counts
        }

        func tokens(_ place: TokenPlace) async throws -> [[UInt8]: [UInt8]] {
            var tokens: [[UInt8]: [UInt8]] = [:]
            var position = ScanPosition.start
            while position < .end {
                let (page, next) = try await store.tokens.page(app, place, from: position, to: .end, limit: 1_000)
                for index in 0..<page.count { tokens[Array(page.channel(index))] = Array(page.token(index)) }
                position = next
            }
            return tokens
        }

        func end() async {
            await redis.close()
            server.stop()
        }
    }

    /// The entries that a reader has given so far, in one task.
    private final class Found { var entries: [BackupEntry] = [] }

    private static func run(_ body: (Deployment, Deployment, TestTime) async throws -> Void) async throws {
        let time = TestTime()
        let (first, second) = (try await Deployment.start(time), try await Deployment.start(time))
        do { try await body(first, second, time) } catch {
            await first.end()
            await second.end()
            throw error
        }
        await first.end()
        await second.end()
    }

    /// A backup's entries, with each token by itself: two deployments have other buckets.
    private static func parts(_ entries: [BackupEntry]) -> Set<[String]> {
        var parts: Set<[String]> = []
        for entry in entries {
            guard case .tokens(let place, let stored) = entry else {
                parts.insert(["\(entry)"])
                continue
            }
            for (channel, value) in stored.entries { parts.insert(["\(place)", "\(channel)", "\(value)"]) }
        }
        return parts
    }

    private static func registration(
        _ channel: ChannelID, _ token: UInt8, at time: Int64
    ) throws -> Registration {
        guard let token = PushToken(bytes: [UInt8](repeating: token, count: 80)) else { throw StoreError.corrupt("") }
        return Registration(channel: channel, token: token, registeredAt: time)
    }

    @Test func `an empty deployment gets all that a backup has, and a second restore changes nothing`() async throws {
        try await Self.run { old, new, time in
            let names = try (0..<40).map { TokenPlace.activity(try ActivityName("order {\($0)}")) }
            let large = TokenPlace.activity(try ActivityName("match-42"))
            let type = TokenPlace.startTokens(of: try checkedAttributesType("MatchAttributes"))
            let channels = (0..<3_000).map { _ in ChannelID.random() }
            for place in names {
                _ = try await old.store.registry.track(
                    old.app, place, [try Self.registration(channels[0], 1, at: time.now)])
            }
            for place in [large, type] {
                _ = try await old.store.registry.track(
                    old.app, place, channels.map { try Self.registration($0, 2, at: time.now - 5) })
            }
            try await old.store.registry.untrack(old.app, large, [Untrack(channel: channels[0], removedAt: time.now)])
            _ = try await old.store.schemas.set(old.app, type: "MatchAttributes", document: Array("{}".utf8))
            _ = try await old.store.sketches.set(old.app, "MatchAttributes", Array(#"{"lines":[]}"#.utf8))
            _ = try await old.store.testDevices.set(old.app, "anna", Array("device-1".utf8))
            _ = try await old.store.console.keep(old.app, template: "Goal ⚽", Array(#"{"event":"update"}"#.utf8))
            _ = try await new.store.testDevices.set(new.app, "anna", Array("device-2".utf8))
            var tags = TagChange()
            tags.add = ["device": ["gold", "a:b%"]]
            try await old.store.channels.register(
                old.app, channels[1], tags: tags, namedUser: "anna", hasIOS18: true)
            try await old.store.schemas.describe(old.app, try ActivityName("match-42"), type: "MatchAttributes")

            let backup = try await old.backup()
            time.set(time.now + 1_000)
            let counts = try await new.restore(backup)
            #expect(counts.stored == 6_040 && counts.kept == 0 && counts.unreadable == 0 && counts.names == 41)
            #expect(try await new.tokens(large) == old.tokens(large))
            #expect(try await new.tokens(large).count == 2_999)
            #expect(try await new.tokens(type) == old.tokens(type))
            #expect(try await new.tokens(names[7]).count == 1)
            #expect(
                try await new.store.channels.record(new.app, channels[1])
                    == old.store.channels.record(old.app, channels[1]))
            let gold = try await new.redis.send(
                RedisCommand(
                    "SISMEMBER", new.store.keys.members(new.app, .tag("gold", group: "device")),
                    [.bytes(channels[1].stored)]))
            #expect(try gold.integer() == 1)
            #expect(try await new.store.schemas.types(new.app, [ActivityName("match-42")]) == ["MatchAttributes"])
            #expect(counts.records == 2)
            #expect(try await new.store.testDevices.find(new.app, "anna") == Array("device-2".utf8), "it stays")
            _ = try await new.store.testDevices.set(new.app, "anna", Array("device-1".utf8))
            #expect(try await new.store.console.templates(new.app).map(\.title) == ["Goal ⚽"])
            // The backup of the restored deployment is the same, and so is that after another restore.
            #expect(try await Self.parts(new.backup()) == Self.parts(backup))
            let again = try await new.restore(backup, by: 1_000)
            #expect(again.stored == 0 && again.kept == 6_040)
            #expect(try await Self.parts(new.backup()) == Self.parts(backup))
            // Its names are in the timer of automatic ends again.
            let ends = try await new.redis.send(RedisCommand("ZCARD", new.store.keys.ends(new.app), []))
            #expect(try ends.integer() == 41)
        }
    }

    @Test func `addresses on Android come back once, and each follower finds its own`() async throws {
        try await Self.run { old, new, time in
            let name = TokenPlace.activity(try ActivityName("match-42"))
            let phones = try (0..<200).map { try ChannelID("phone-\($0)") }
            func tell(_ place: TokenPlace, silent: Int? = nil, _ token: (Int) throws -> PushToken) async throws {
                let registrations = try phones.indices.map { index in
                    Registration(
                        channel: phones[index], token: try token(index), registeredAt: time.now,
                        frequentPushesEnabled: index == silent ? false : nil)
                }
                _ = try await old.store.registry.track(old.app, place, registrations)
            }
            let addresses = TokenPlace.addresses(on: .android)
            try await tell(addresses, silent: 3) { PushToken(try AndroidAddress(.token, "phone-\($0):APA91b")) }
            try await tell(name) { $0 == 2 ? .withoutCard(on: .android) : .ofChannel(on: .android) }
            try await old.store.registry.untrack(
                old.app, addresses, [Untrack(channel: phones[1], removedAt: time.now + 1)])
            let backup = try await old.backup()
            time.set(time.now + 1_000)
            #expect(try await new.restore(backup).stored == 400)
            #expect(try await Self.parts(new.backup()) == Self.parts(backup))
            let (page, _) = try await new.store.tokens.page(new.app, name, from: .start, to: .end, limit: 1_000)
            let (found, unreachable) = try await new.store.tokens.addressed(new.app, page)
            let numbers = (0..<found.count).map { number in
                phones.firstIndex { $0.stored == Array(found.channel(number)) } ?? -1
            }
            #expect(numbers.sorted() == Array(0..<200))
            for (place, number) in numbers.enumerated() {
                let text = String(decoding: found.token(place).dropFirst(), as: UTF8.self)
                switch number {
                case 1: #expect(unreachable[place] == .noAddress)
                case 3: #expect(unreachable[place] == .notificationsOff)
                default: #expect(unreachable[place] == nil && text == "phone-\(number):APA91b", "\(text)")
                }
                #expect(found[route: place].contains(.variant) == (number == 2))
            }
        }
    }

    @Test func `followers of a large name get no note, and of a name that began anew they get one`() async throws {
        try await Self.run { old, new, time in
            let name = TokenPlace.activity(try ActivityName("cup-final"))
            try await old.store.registry.buckets.make(128, in: old.store.keys.place(old.app, name))
            let channels = (0..<3).map { _ in ChannelID.random() }
            _ = try await old.store.registry.track(
                old.app, name, try channels.map { try Self.registration($0, 1, at: time.now) })
            let backup = try await old.backup()
            try await new.restore(backup)
            func keys(_ kind: String) async throws -> [RedisKey] {
                try await new.redis.keys().filter { $0.description.hasPrefix("ll:\(kind):") }
            }
            let (notes, lists) = (try await keys("fo"), try await keys("ln"))
            #expect(notes == [] && lists.count == 1)
            let places = try await new.store.followings.places(new.app, channels[0].stored)
            #expect(places == [name])
            for key in try await keys("b") + keys("ln") { try await new.redis.send(RedisCommand("DEL", key)) }
            try await new.restore(backup.filter { if case .tokens = $0 { true } else { false } })
            #expect(try await keys("fo").count == 3)
            let again = try await new.store.followings.places(new.app, channels[0].stored)
            #expect(again == [name])
        }
    }

    @Test func `what a running deployment has and is newer stays`() async throws {
        try await Self.run { old, new, time in
            let place = TokenPlace.activity(try ActivityName("match-42"))
            let channels = (0..<4).map { _ in ChannelID.random() }
            func track(_ deployment: Deployment, _ index: Int, _ token: UInt8, at offset: Int64) async throws {
                _ = try await deployment.store.registry.track(
                    deployment.app, place, [try Self.registration(channels[index], token, at: time.now + offset)])
            }
            // The times count back from now. Channel 0 is newer there, 1 older, 2 was removed there later, 3 earlier.
            for index in channels.indices { try await track(old, index, 1, at: -500) }
            try await track(new, 0, 2, at: -400)
            try await track(new, 1, 2, at: -600)
            for (index, offset) in [(2, -400), (3, -600)] as [(Int, Int64)] {
                try await track(new, index, 2, at: -700)
                try await new.store.registry.untrack(
                    new.app, place, [Untrack(channel: channels[index], removedAt: time.now + offset)])
            }
            var tags = TagChange()
            tags.add = ["device": ["old"]]
            try await old.store.channels.tag(old.app, [channels[0], channels[1]], tags)
            let backup = try await old.backup()
            time.set(time.now + 10)
            tags.add = ["device": ["new"]]
            try await new.store.channels.tag(new.app, [channels[0]], tags)

            let counts = try await new.restore(backup)
            #expect(counts.stored == 2 && counts.kept == 1 && counts.removed == 1)
            let tokens = try await new.tokens(place)
            #expect(channels.map { tokens[$0.stored]?.first } == [2, 1, nil, 1])
            let kept = try await new.store.channels.record(new.app, channels[0])
            #expect(kept?.tags == [ExactText("device"): ["new"]])
            #expect(try await new.store.channels.record(new.app, channels[1])?.tags == [ExactText("device"): ["old"]])

            // A removal in the backup also removes an older registration that the deployment has.
            try await old.store.registry.untrack(
                old.app, place, [Untrack(channel: channels[1], removedAt: time.now)])
            time.set(time.now + 10)
            try await new.restore(try await old.backup())
            #expect(try await new.tokens(place)[channels[1].stored] == nil)
        }
    }

    @Test func `a token that APNs called dead is not brought back, and one that is dead in the backup goes`()
        async throws
    {
        try await Self.run { old, new, time in
            let place = TokenPlace.activity(try ActivityName("match-42"))
            let (first, second) = (ChannelID.random(), ChannelID.random())
            let both = try [first, second].map { try Self.registration($0, 1, at: time.now - 500) }
            for deployment in [old, new] {
                _ = try await deployment.store.registry.track(deployment.app, place, both)
            }
            let before = try await old.backup()
            func prune(_ deployment: Deployment, _ channel: ChannelID) async throws {
                _ = try await deployment.store.registry.prune(
                    deployment.app, place,
                    [TokenRemoval(channel: channel.stored, token: [UInt8](repeating: 1, count: 80), deadSince: nil)])
            }
            try await prune(new, first)
            try await new.restore(before)
            #expect(try await Set(new.tokens(place).keys) == [second.stored])
            try await prune(old, second)
            try await new.restore(try await old.backup())
            #expect(try await new.tokens(place).isEmpty)
        }
    }

    @Test func `registrations whose life is over and bytes that nobody writes are counted and left out`() async throws {
        try await Self.run { old, new, time in
            let name = try ActivityName("match-42")
            _ = try await old.store.registry.track(
                old.app, .activity(name), [try Self.registration(.random(), 1, at: time.now)])
            let backup = try await old.backup()
            time.advance(hours: 14)
            #expect(try await new.restore(backup).expired == 1)
            #expect(try await new.tokens(.activity(name)).isEmpty)
            let odd = StoredTokens(bytes: [1, 9, 0, 2, 5, 5])
            let counts = try await new.restore([.tokens(.activity(name), odd ?? StoredTokens())])
            #expect(counts.unreadable == 1 && counts.stored == 0)
            #expect(StoredTokens(bytes: [16, 0, 0]) == nil && StoredTokens(bytes: [0]) == nil)
        }
    }
}

extension Array {
    fileprivate func parts(of size: Int) -> [ArraySlice<Element>] {
        stride(from: 0, to: count, by: size).map { self[$0..<Swift.min($0 + size, count)] }
    }
}

extension LonePushTests {
    @Test func `a token that a backup brings back during its sweep joins the catch-up`() async throws {
        let fixture = try await PushFixture.start()
        let (store, app, place) = (fixture.store, fixture.app, TokenPlace.activity(name))
        let other = try await PushFixture.start()
        try await other.track(Self.name, count: 1)
        let entries = Mutex<[BackupEntry]>([])
        try await Backup(store: other.store).read(app) { part in entries.withLock { $0 += part } }
        let claim = try await fixture.claimed(Self.name, try await fixture.accepted(Self.name))
        for case .tokens(place, let stored) in entries.withLock({ $0 }) {
            _ = try await store.registry.restore(app, place, stored, endAfter: nil)
        }
        guard case .ok(.sending, true, let leftovers) = try await fixture.deliver(claim, targets: 0) else {
            throw Unexpected(what: "the catch-up was forgotten")
        }
        #expect(leftovers.catchUpWaits)
    }
}

extension HandedPushTests {
    @Test func `a token that a backup brings back gets the push that is handed`() async throws {
        let (fixture, _) = try await start()
        let (store, app, place) = (fixture.store, fixture.app, TokenPlace.activity(name))
        let other = try await PushFixture.start()
        try await other.track(Self.name, count: 1)
        let entries = Mutex<[BackupEntry]>([])
        try await Backup(store: other.store).read(app) { part in entries.withLock { $0 += part } }
        let id = try await publish(fixture)
        for case .tokens(place, let stored) in entries.withLock({ $0 }) {
            _ = try await store.registry.restore(app, place, stored, endAfter: nil)
        }
        #expect(try await !isHanded(fixture))
        let claim = try await fixture.claimed(Self.name, id)
        let (page, _, _) = try await store.tokens.markedPage(app, place, from: .start, to: .end, limit: 100)
        #expect(claim.lease.push == id && page.count == 3)
    }
}

extension ScriptWorkTests {
    /// `registry-restore` reads as many entries as its caller says: at most 1,000.
    static let backup = ["hash-restore", "registry-restore"]
}

extension ClockStepTests {
    /// It compares dates, and no wait.
    static let backup = ["registry-restore"]
}
