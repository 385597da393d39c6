import LiveActivity
import ServiceLifecycle
import Store
import TestSupport
import Testing

@testable import Fanout

/// Tests the effect of one name or app on the others, by the requests that are answered while other pages are held.
@Suite struct FairnessTests {
    @Test(.timeLimit(.minutes(5))) func `a small push passes a large one`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<8_000)
        let small = try ActivityName("order-1")
        let token = try #require(WorkerFixture.token(1_000_000))
        _ = try await fixture.store.registry.track(
            fixture.app, .activity(small),
            [Registration(channel: .random(), token: token, registeredAt: nowMilliseconds() - 60_000)])
        // Only the follower of the small name gets answers.
        let transport = ScriptedTransport()
        transport.hold { $0 != token.bytes }
        try await fixture.withWorker(transport) {
            let large = try await fixture.publish()
            await transport.holding(pages: 3)
            let ledger = try await fixture.finished(try await fixture.publish(to: small))
            #expect(ledger.state == .done && ledger.delivered == 1)
            #expect(
                try await fixture.store.pushes.ledger(fixture.app, large)?.delivered == 0, "it was first, and waits")
            transport.letGo()
            #expect(try await fixture.finished(large).delivered == 8_000)
        }
    }

    @Test(.timeLimit(.minutes(5))) func `an app whose APNs is silent takes no permit that another needs`() async throws
    {
        let fixture = try await WorkerFixture.start()
        let quiet = try AppKey("quiet")
        let (flooded, other) = (ScriptedTransport(), ScriptedTransport())
        flooded.hold()
        let names = try (0..<120).map { try ActivityName("flood-\($0)") }
        for name in names { try await fixture.follow(fixture.app, name) }
        try await fixture.follow(quiet, fixture.name)
        var options = WorkerOptions(name: "w")
        options.concurrency = 8
        let worker = Worker(
            store: fixture.store,
            apps: [
                WorkerApp(key: fixture.app, bundleID: "com.example.shop", transport: flooded),
                WorkerApp(key: quiet, bundleID: "com.example.quiet", transport: other),
            ],
            options: options, logger: .quiet)
        let group = ServiceGroup(
            configuration: .init(services: [.init(service: worker)], logger: .quiet))
        async let running: Void = group.run()
        var flood: [PushID] = []
        for name in names { flood.append(try await fixture.publish(to: name)) }
        await flooded.holding(pages: 6)
        // The flood has all permits that it may have, and more of its pages wait. The quiet app's pushes are
        // sent one after the other.
        for _ in 0..<10 {
            let id = try await fixture.publish(to: fixture.name, of: quiet)
            #expect(try await fixture.finished(id, of: quiet).state == .done)
        }
        #expect(flooded.held == 6, "8 permits, of which the other app is sure of 2")
        flooded.letGo()
        for id in flood { #expect(try await fixture.finished(id).delivered == 1) }
        await group.triggerGracefulShutdown()
        try await running
    }

    @Test func `each app is sure of its share and may take what is left`() async throws {
        let apps = try ["a", "b", "c"].map { try AppKey($0) }
        let permits = FairSemaphore(12, apps)
        var taken = 0
        while permits.takeIfFree(apps[0]) { taken += 1 }
        #expect(taken == 8, "two for each of the others are left")
        #expect(permits.free(for: apps[1]) == 2 && permits.free(for: apps[2]) == 2)
        #expect(permits.takeIfFree(apps[1]) && permits.takeIfFree(apps[1]) && !permits.takeIfFree(apps[1]))
        #expect(permits.takeIfFree(apps[2]))
        permits.give(apps[0])
        #expect(permits.free(for: apps[0]) == 1 && permits.free(for: apps[1]) == 1 && permits.free(for: apps[2]) == 2)
        #expect(FairSemaphore(1, apps).free(for: apps[2]) == 1, "at least a permit for each")
        #expect(FairSemaphore(5, [apps[0]]).free(for: apps[0]) == 5)
    }

    @Test(.timeLimit(.minutes(5))) func `callers that wait get permits in the order of their app`() async throws {
        let apps = try ["a", "b"].map { try AppKey($0) }
        let permits = FairSemaphore(2, apps)
        #expect(permits.takeIfFree(apps[0]) && permits.takeIfFree(apps[1]) && !permits.takeIfFree(apps[0]))
        let (events, order) = AsyncStream.makeStream(of: String.self)
        await withDiscardingTaskGroup { group in
            group.addTask {
                await permits.take(apps[0])
                order.yield("a")
            }
            group.addTask {
                await permits.take(apps[1])
                order.yield("b")
                permits.give(apps[0])
            }
            // The waiter continues only when a permit of its own app is given back.
            permits.give(apps[1])
        }
        order.finish()
        #expect(await events.reduce(into: []) { $0.append($1) } == ["b", "a"])
        permits.give(apps[0])
        await permits.untilFree()
        permits.give(apps[1])
        #expect(permits.free(for: apps[0]) == 1 && permits.free(for: apps[1]) == 1)
    }
}

extension WorkerFixture {
    fileprivate func follow(_ app: AppKey, _ name: ActivityName) async throws {
        let token = try #require(Self.token(1))
        _ = try await store.registry.track(
            app, .activity(name),
            [Registration(channel: .random(), token: token, registeredAt: nowMilliseconds() - 60_000)])
    }

    fileprivate func publish(to name: ActivityName, of app: AppKey? = nil) async throws -> PushID {
        let publish = Publish(
            name: name, event: .update, audience: .all, alert: RawJSON(checked: #"{"title":"t"}"#))
        let acceptance = try await store.pushes.accept(
            app ?? self.app, publish, id: .random(), payload: Array(#"{"aps":{"timestamp":0000000000}}"#.utf8),
            timestampOffset: 20)
        guard case .accepted(let id, _, _) = acceptance else { throw WorkerFixtureError(description: "\(acceptance)") }
        return id
    }
}
