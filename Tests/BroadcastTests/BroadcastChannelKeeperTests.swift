import APNsClient
import APNsSimulator
import APNsWire
import LiveActivity
import Redis
import Testing

@testable import Fanout
@testable import Store
@testable import StoreDeliveries

/// Tests that names get the broadcast channels they want and lose the others, whatever dies in between.
@Suite(.timeLimit(.minutes(5)), .serialized)
struct BroadcastChannelKeeperTests {
    @Test func `a broadcast channel that is made wakes its queue`() async throws {
        try await BroadcastFixture.run { it in
            try await it.want(try it.name())
            #expect(try await it.store.queue.depth([it.app]).map(\.pushesHigh) == [0])
            await it.keeper().tick(it.app)
            #expect(try await it.store.queue.depth([it.app]).map(\.pushesHigh) == [1])
        }
    }

    @Test func `a name gets its channel`() async throws {
        try await BroadcastFixture.run { it in
            let name = try it.name()
            let asked = try await it.store.broadcasts.want(it.app, name, .newest, now: it.now)
            #expect(asked == BroadcastChannel(state: .wanted, storage: .newest))
            await it.keeper().tick(it.app)
            let channel = try #require(try await it.channel(name))
            #expect(channel.state == .live && channel.storage == .newest && channel.createdAt != nil)
            #expect(it.atAPNs == [channel.id?.rawValue])
            #expect(it.simulator.channels().first?.storesNewest == true)
            let listed = try await it.store.broadcasts.list(it.app)
            #expect(listed.map(\.name) == [name] && listed.map(\.id) == [channel.id])
            #expect(try await it.store.broadcasts.count(it.app) == (own: 1, foreign: 0))

            // The name asks for its channel again, with another storage too. The channel stays, and
            // nothing is left to do.
            let again = try await it.store.broadcasts.want(it.app, name, .none, now: it.now)
            #expect(again == channel)
            await it.keeper(later: .seconds(600)).tick(it.app)
            #expect(it.simulator.snapshot().broadcasts.created == 1)
            #expect(try await it.store.broadcasts.due(it.app, now: .max, limit: 10).names.isEmpty)
        }
    }

    /// More names than one turn handles are due earlier. They belong to an app that this worker does not
    /// serve, or are unreadable.
    @Test func `names that cannot be served keep no other from its channel`() async throws {
        try await BroadcastFixture.run { it in
            let other = try AppKey("other")
            for number in 0..<2 * BroadcastChannelKeeper.mostNames {
                _ = try await it.store.broadcasts.want(other, try it.name("theirs-\(number)"), .none, now: 1)
            }
            let name = try it.name("\u{301}match")
            let unreadable = (0..<2 * BroadcastChannelKeeper.mostNames).flatMap {
                ["1", RedisArgument.bytes([0xFF, UInt8($0)])]
            }
            try await it.store.redis.send(RedisCommand("ZADD", it.store.keys.broadcastTimers(it.app), unreadable))
            let broken = try it.name("broken")
            _ = try await it.store.broadcasts.want(it.app, broken, .none, now: 2)
            let key = it.store.keys.broadcast(it.store.keys.tag(it.app, broken))
            try await it.store.redis.send(RedisCommand("HSET", key, "state", "?"))
            try await it.want(name)
            for _ in 0..<3 { await it.keeper().tick(it.app) }
            #expect(try await it.channel(name)?.state == .live)
        }
    }

    /// Three workers handle the same twenty names at once.
    @Test func `two workers do not make two`() async throws {
        try await BroadcastFixture.run { it in
            for number in 0..<20 { try await it.want(try it.name("match-\(number)")) }
            for _ in 0..<50 where it.atAPNs.count < 20 {
                await withDiscardingTaskGroup { group in
                    for worker in ["one", "two", "three"] { group.addTask { await it.keeper(worker).tick(it.app) } }
                }
            }
            #expect(it.simulator.snapshot().broadcasts.created == 20)
            let listed = try await it.store.broadcasts.list(it.app)
            #expect(Set(listed.map(\.name)).count == 20 && Set(listed.map(\.id.rawValue)) == Set(it.atAPNs))
        }
    }

    @Test func `a channel that is given up is deleted`() async throws {
        try await BroadcastFixture.run { it in
            let (name, other) = (try it.name(), try it.name("match-43"))
            try await it.want(name)
            try await it.want(other)
            await it.keeper().tick(it.app)
            #expect(try await it.store.broadcasts.discard(it.app, name, now: it.now))
            #expect(try await it.channel(name)?.state == .deleting)
            await it.keeper().tick(it.app)
            #expect(try await it.channel(name) == nil)
            #expect(it.atAPNs == [try await it.channel(other)?.id?.rawValue])
            #expect(try await it.store.broadcasts.count(it.app).own == 1)
            #expect(try await !it.store.broadcasts.discard(it.app, name, now: it.now))

            // The name is given up before its channel was made.
            try await it.want(name)
            #expect(try await it.store.broadcasts.discard(it.app, name, now: it.now))
            await it.keeper().tick(it.app)
            #expect(it.simulator.snapshot().broadcasts.created == 2)
            #expect(try await it.store.broadcasts.due(it.app, now: .max, limit: 10).names.isEmpty)
        }
    }

    /// The response to a creation is lost, or the worker dies before it notes the channel. APNs then has a channel that
    /// no name has. The list of channels reveals it. A channel that others made stays.
    @Test func `an orphan is deleted and only that`() async throws {
        try await BroadcastFixture.run { it in
            let foreign = try await it.manager.create(.none)
            let name = try it.name()
            try await it.want(name)
            await loseCreation(it)
            let waiting = try #require(try await it.channel(name))
            #expect(waiting.state == .wanted && waiting.error?.contains("could not be asked to make a channel") == true)
            #expect(it.atAPNs.count == 2)

            await it.keeper("two", later: .seconds(600)).tick(it.app)
            let channel = try #require(try await it.channel(name))
            #expect(channel.state == .live && channel.error == nil)
            #expect(Set(it.atAPNs) == [foreign.rawValue, channel.id?.rawValue])
            #expect(it.simulator.snapshot().broadcasts.deleted == 1)
            #expect(try await it.store.broadcasts.count(it.app) == (own: 1, foreign: 1))
        }
    }

    /// The list is answered, but the creation is executed without a response.
    private func loseCreation(_ it: BroadcastFixture) async {
        var service = it.service
        let create = service.create
        service.create = { (storage) async throws(BroadcastChannelError) in
            var faults = it.simulator.faults
            faults.manageLoseNext = 1
            try? it.simulator.setFaults(faults)
            return try await create(storage)
        }
        let app = WorkerApp(
            key: it.app, bundleID: BroadcastFixture.bundleID, transport: NoTransport(), broadcasts: service)
        await BroadcastChannelKeeper(store: it.store, apps: [it.app: app], owner: "one", logger: it.logger).tick(it.app)
    }

    /// The worker was killed after it noted the channel and before it gave the channel to its name.
    @Test func `a channel that was made is given to its name`() async throws {
        try await BroadcastFixture.run { it in
            let name = try it.name()
            try await it.want(name)
            let lease = try #require(try await it.store.broadcasts.claim(it.app, owner: "dead", for: .zero))
            #expect(try await it.store.broadcasts.noteForeign(lease, []))
            #expect(try await it.store.broadcasts.intend(lease, name, for: .zero))
            let id = try await it.manager.create(.none)
            #expect(try await it.store.broadcasts.made(lease, name, id, for: .zero))

            await it.keeper().tick(it.app)
            #expect(try await it.channel(name)?.id == id)
            #expect(it.atAPNs == [id.rawValue])

            // The previous owner of the lease cannot change anything any more.
            #expect(try await !it.store.broadcasts.intend(lease, name, for: .zero))
            #expect(try await !it.store.broadcasts.made(lease, name, id, for: .zero))
            #expect(try await !it.store.broadcasts.noteForeign(lease, []))
        }
    }

    /// The same, but the name was given up meanwhile.
    @Test func `a channel that nobody wants any more is deleted`() async throws {
        try await BroadcastFixture.run { it in
            let (name, other) = (try it.name(), try it.name("match-43"))
            let lease = try #require(try await it.store.broadcasts.claim(it.app, owner: "dead", for: .zero))
            #expect(try await it.store.broadcasts.intend(lease, name, for: .zero))
            #expect(try await it.store.broadcasts.made(lease, name, try await it.manager.create(.none), for: .zero))
            try await it.want(other)
            await it.keeper().tick(it.app)
            #expect(it.atAPNs == [try await it.channel(other)?.id?.rawValue])
            #expect(try await it.store.broadcasts.count(it.app).own == 1)
        }
    }

    @Test func `one lease at a time`() async throws {
        try await BroadcastFixture.run { it in
            let lease = try #require(try await it.store.broadcasts.claim(it.app, owner: "one", for: .seconds(60)))
            #expect(try await it.store.broadcasts.claim(it.app, owner: "two", for: .seconds(60)) == nil)
            #expect(try await it.store.broadcasts.giveBack(lease))
            let next = try await it.store.broadcasts.claim(it.app, owner: "two", for: .seconds(60))
            #expect(next?.epoch == lease.epoch + 1 && next?.unfinished == nil)
            #expect(try await !it.store.broadcasts.renew(lease, for: .seconds(60)))
        }
    }

    /// A channel stays for a while after the end. A name that begins again keeps it.
    @Test func `an ended name's channel is deleted in time`() async throws {
        try await BroadcastFixture.run { it in
            let name = try it.name()
            try await it.want(name)
            await it.keeper().tick(it.app)
            let id = try #require(try await it.channel(name)?.id)
            try await end(it, name)
            try await it.store.broadcasts.retire(it.app, name, at: it.now + 60_000)
            await it.keeper().tick(it.app)
            #expect(try await it.channel(name)?.deleteAt != nil && it.atAPNs == [id.rawValue])

            // A device follows, so the name goes on.
            let registration = Registration(
                channel: try ChannelID("c1"), token: try PushToken(hex: String(repeating: "ab", count: 32)),
                registeredAt: it.now)
            _ = try await it.store.registry.track(it.app, .activity(name), [registration])
            await it.keeper(later: .seconds(61)).tick(it.app)
            #expect(
                try await it.channel(name)
                    == BroadcastChannel(
                        state: .live, storage: .none, id: id, createdAt: try await it.channel(name)?.createdAt))

            try await end(it, name)
            try await it.store.broadcasts.retire(it.app, name, at: it.now + 60_000)
            await it.keeper(later: .seconds(61)).tick(it.app)
            #expect(try await it.channel(name) == nil && it.atAPNs.isEmpty)
        }
    }

    private func end(_ it: BroadcastFixture, _ name: ActivityName) async throws {
        let publish = Publish(name: name, event: .end, audience: .all)
        let payload = Payload(publish, timestamp: Int(it.now / 1_000)).bytes
        let accepted = try await it.store.pushes.accept(
            it.app, publish, id: .random(), payload: payload, timestampOffset: Payload.timestampOffset,
            now: it.now - 1_000)
        guard case .accepted = accepted else {
            Issue.record("\(accepted)")
            return
        }
    }

    /// APNs does not know the channel any more, so the name gets another one.
    @Test func `a lost channel is made anew`() async throws {
        try await BroadcastFixture.run { it in
            let name = try it.name()
            try await it.want(name, .newest)
            await it.keeper().tick(it.app)
            let first = try #require(try await it.channel(name)?.id)
            #expect(it.simulator.deleteChannel(first.rawValue))
            #expect(try await it.store.broadcasts.gone(it.app, name, first, now: it.now) == .wanted)
            // Two broadcasts report the same.
            #expect(try await it.store.broadcasts.gone(it.app, name, first, now: it.now) == .notThisNames)
            await it.keeper().tick(it.app)
            let second = try #require(try await it.channel(name))
            #expect(second.state == .live && second.storage == .newest && second.id != first)
            #expect(it.atAPNs == [second.id?.rawValue])
        }
    }

    @Test func `what APNs refuses is shown and tried again`() async throws {
        try await BroadcastFixture.run(server: { $0.channelLimit = 1 }) { it in
            let name = try it.name()
            try await it.want(name)
            try it.set { $0.manageRejections = ["FeatureNotEnabled": 1] }
            await it.keeper().tick(it.app)
            #expect(try await it.channel(name)?.error?.contains("FeatureNotEnabled; switch on") == true)
            #expect(try await it.store.alarms.list([it.app]).map(\.kind) == [.broadcast])
            // The keeper waits for some minutes after a refusal …
            await it.keeper(later: .seconds(60)).tick(it.app)
            #expect(it.simulator.snapshot().broadcasts.manageRequests == 1)
            // … unless the name asks again.
            try it.set { _ in }
            try await it.want(name)
            await it.keeper().tick(it.app)
            #expect(try await it.channel(name)?.state == .live)
            #expect(try await it.store.alarms.list([it.app]).isEmpty)

            let full = try it.name("match-43")
            try await it.want(full)
            await it.keeper().tick(it.app)
            #expect(try await it.channel(full)?.error?.contains("CannotCreateChannelConfig") == true)
            // A refused creation leaves nothing to check.
            #expect(try await it.store.broadcasts.claim(it.app, owner: "x", for: .zero)?.unfinished == nil)

            try it.set { $0.manageRejections = ["ServiceUnavailable": 1] }
            #expect(try await it.store.broadcasts.discard(it.app, name, now: it.now))
            await it.keeper().tick(it.app)
            #expect(try await it.channel(name)?.state == .deleting)
            try it.set { _ in }
            await it.keeper(later: .seconds(60)).tick(it.app)
            #expect(try await it.channel(name) == nil && it.atAPNs.isEmpty)
        }
    }

    /// Channels that others made count too. Above the limit no channel is requested.
    @Test func `the ten thousandth is the last`() async throws {
        try await BroadcastFixture.run { it in
            let others = try (10_001...19_999).map { try BroadcastChannelID("000\($0)") }
            var service = it.service
            service.list = { others }
            for number in 0..<2 { try await it.want(try it.name("match-\(number)")) }
            await it.keeper(service: service).tick(it.app)
            #expect(it.simulator.snapshot().broadcasts.manageRequests == 1 && it.atAPNs.count == 1)
            #expect(try await it.store.broadcasts.count(it.app) == (own: 1, foreign: 9_999))
            let channels = [try await it.channel(it.name("match-0")), try await it.channel(it.name("match-1"))]
            #expect(Set(channels.compactMap { $0?.state }) == [.live, .wanted])
            let error = channels.compactMap { $0?.error }.first
            #expect(error?.contains("400 CannotCreateChannelConfig; the app has its 10,000 channels") == true)
            #expect(try await it.store.alarms.list([it.app]).map(\.kind) == [.broadcast])
        }
    }
}
