import APNsWire
import Delivery
import LiveActivity
import Redis
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing
import Threads
import Webhooks

@testable import Fanout
@testable import Store
@testable import StoreDeliveries

/// Outgoing events of real pushes, from Redis to a real server over TLS.
@Suite struct WebhookStoryTests {
    private static let policy = EventPolicy(keep: 1_000, queued: Set(OutgoingEvent.Kind.allCases))

    private static let gone = PushOutcome.rejected(
        Rejection(status: 410, reason: .known(.unregistered), timestamp: nowMilliseconds()))

    /// The work of a worker that sends to the receiver. The pauses between attempts are so short that a test can wait.
    private func sender(
        _ fixture: WorkerFixture, _ live: Replaceable<Webhook>, of process: String = "w"
    ) -> [@Sendable () async -> Void] {
        let sender = WebhookSender(
            store: fixture.store, app: fixture.app, live: live, process: process, longestPause: .milliseconds(50),
            logger: .quiet)
        return [sender.run]
    }

    private func sender(_ fixture: WorkerFixture, _ receiver: HTTPSReceiver) -> [@Sendable () async -> Void] {
        sender(fixture, Replaceable(webhook(receiver)))
    }

    private func webhook(_ receiver: HTTPSReceiver) -> Webhook {
        var webhook = Webhook(url: receiver.url, secret: "hook-secret-0123456789")
        webhook.caFile = receiver.caFile
        webhook.allowsPrivateAddresses = true
        webhook.timeout = .seconds(60)
        return webhook
    }

    /// The ids of the events that the server has accepted, in order.
    private func ids(_ receiver: HTTPSReceiver) -> [String] {
        receiver.requests.flatMap { request in
            request.text.matches(of: #/\{"id":"([^"]+)","type"/#).map { String($0.output.1) }
        }
    }

    private func stream(_ fixture: WorkerFixture) async throws -> [String] {
        let reader = fixture.store.eventReader()
        defer { reader.close() }
        return try await reader.events(fixture.app, after: "0-0", limit: 1_000, waits: false).map(\.id)
    }

    @Test func `pushes that end are told to the stream and to the webhook, in order`() async throws {
        let fixture = try await WorkerFixture.start(events: Self.policy)
        try await fixture.track(0..<3)
        let receiver = try HTTPSReceiver()
        let transport = ScriptedTransport { token, _ in
            WorkerFixture.number(token) == 0 ? Self.gone : .accepted
        }
        try await fixture.withWorker(transport, tasks: sender(fixture, receiver)) {
            let first = try await fixture.publish()
            #expect(try await fixture.finished(first).pruned == 1)
            let second = try await fixture.publish()
            _ = try await fixture.finished(second)
            let expected = ["\(first).1", "\(first).1.pruned", "\(second).1"]
            try await eventually("the webhook has them: \(ids(receiver))") { ids(receiver) == expected }
            #expect(try await stream(fixture) == expected)
            let status = try await fixture.store.webhooks.status(fixture.app)
            try await eventually("they leave the queue: \(status)") {
                try await fixture.store.webhooks.status(fixture.app) == WebhookStatus()
            }
        }
        let first = try #require(receiver.requests.first)
        #expect(first.text.hasPrefix(#"{"app":"shop","events":[{"id":""#) && first.text.hasSuffix("]}"))
        #expect(first.text.contains(#""delivered":2,"pruned":1"#), "\(first.text)")
    }

    @Test func `a webhook that fails gets its events when it works again`() async throws {
        let fixture = try await WorkerFixture.start(events: Self.policy)
        try await fixture.track(0..<1)
        let receiver = try HTTPSReceiver { _ in .status(503) }
        try await fixture.withWorker(ScriptedTransport(), tasks: sender(fixture, receiver)) {
            let ids = [try await fixture.publish(), try await fixture.publish(), try await fixture.publish()]
            for id in ids { _ = try await fixture.finished(id) }
            try await eventually("it is tried again and again") { receiver.requests.count > 5 }
            let status = try await fixture.store.webhooks.status(fixture.app)
            #expect(status.waiting >= 1 && status.dead == 0 && status.failure?.reason == "HTTP 503", "\(status)")
            let failed = receiver.requests.count
            receiver.answer { _ in .accepted }
            try await eventually("all are delivered") {
                try await fixture.store.webhooks.status(fixture.app) == WebhookStatus()
            }
            let delivered = receiver.requests.dropFirst(failed).map(\.text).joined()
            for id in ids { #expect(delivered.contains("\(id).1")) }
        }
    }

    @Test func `events that wait too long are given up, and a retry delivers them`() async throws {
        let fixture = try await WorkerFixture.start(events: Self.policy)
        try await fixture.track(0..<1)
        let receiver = try HTTPSReceiver { _ in .status(500) }
        var impatient = webhook(receiver)
        impatient.giveUpAfter = .milliseconds(1)
        let tasks = sender(fixture, Replaceable(impatient))
        let webhooks = fixture.store.webhooks
        try await fixture.withWorker(ScriptedTransport(), tasks: tasks) {
            let id = try await fixture.publish()
            try await eventually("it is given up") { try await webhooks.status(fixture.app).dead == 1 }
            let dead = try await webhooks.dead(fixture.app, after: nil, limit: 10)
            #expect(dead.map(\.event.id) == ["\(id).1"] && dead[0].reason == "HTTP 500")
            receiver.answer { _ in .accepted }
            #expect(try await webhooks.retry(fixture.app) == 1)
            try await eventually("it is delivered") {
                try await webhooks.status(fixture.app) == WebhookStatus()
            }
        }
        #expect(Set(ids(receiver)).count == 1)
    }

    @Test func `an event that is refused alone is given up, and those behind it go on`() async throws {
        let fixture = try await WorkerFixture.start(events: Self.policy)
        try await fixture.track(0..<1)
        let poison = PushID.random()
        let taken = Mutex<[String]>([])
        let receiver = try HTTPSReceiver { request in
            if request.text.contains("\(poison)") { return .status(422) }
            taken.withLock { $0.append(request.text) }
            return .accepted
        }
        // All are in the queue before the webhook is served.
        let ids = [PushID.random(), poison, PushID.random(), PushID.random()]
        try await fixture.withWorker(ScriptedTransport()) {
            for id in ids { _ = try await fixture.finished(try await fixture.publish(id: id)) }
            try await eventually("all are told") { try await stream(fixture).count == ids.count }
        }
        try await fixture.withWorker(ScriptedTransport(), tasks: sender(fixture, receiver)) {
            try await eventually("the queue is empty") {
                try await fixture.store.webhooks.status(fixture.app) == WebhookStatus(dead: 1)
            }
        }
        let dead = try await fixture.store.webhooks.dead(fixture.app, after: nil, limit: 10)
        #expect(dead.map(\.event.id) == ["\(poison).1"] && dead[0].reason == "HTTP 422")
        let delivered = taken.withLock { $0.joined() }
        for id in ids where id != poison { #expect(delivered.contains("\(id).1")) }
    }

    @Test func `of two workers one sends, and the other goes on when it has stopped`() async throws {
        let fixture = try await WorkerFixture.start(events: Self.policy)
        try await fixture.track(0..<1)
        let receiver = try HTTPSReceiver()
        let groups = ["one", "two"].map { name in
            fixture.group(
                ScriptedTransport(), name, tasks: sender(fixture, Replaceable(webhook(receiver)), of: name))
        }
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for group in groups { tasks.addTask { try await group.run() } }
            var expected: [String] = []
            func tell() async throws {
                for _ in 0..<5 {
                    let id = try await fixture.publish()
                    _ = try await fixture.finished(id)
                    expected.append("\(id).1")
                }
                try await eventually("all are told: \(ids(receiver))") { Set(ids(receiver)) == Set(expected) }
            }
            try await tell()
            let lease = fixture.store.keys.webhookLease(fixture.app)
            let owner = try await fixture.store.redis.send(RedisCommand("GET", lease)).string()
            let first = owner.hasPrefix("one") ? 0 : 1
            await groups[first].triggerGracefulShutdown()
            try await tell()
            await groups[1 - first].triggerGracefulShutdown()
            try await tasks.waitForAll()
            var known: Set<String> = []
            let firsts = ids(receiver).filter { known.insert($0).inserted }
            #expect(firsts == expected, "in order; both may have told an end")
        }
    }

    @Test func `a longer timeout lengthens the lease while the worker runs`() async throws {
        let fixture = try await WorkerFixture.start(events: Self.policy)
        try await fixture.track(0..<1)
        let receiver = try HTTPSReceiver()
        let live = Replaceable(webhook(receiver))
        try await fixture.withWorker(ScriptedTransport(), tasks: sender(fixture, live)) {
            let lease = RedisCommand("PTTL", fixture.store.keys.webhookLease(fixture.app))
            func left() async throws -> Int { try await fixture.store.redis.send(lease).integer() }
            try await eventually("the lease is taken") { try await left() > 0 }
            #expect(try await left() <= 80_000)
            live.change { $0.timeout = .seconds(600) }
            try await eventually("the lease outlasts a request") { try await left() > 600_000 }
            let id = try await fixture.publish()
            try await eventually("the event is sent") { ids(receiver) == ["\(id).1"] }
        }
    }
}
