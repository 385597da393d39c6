import Delivery
import FCMClient
import LiveActivity
import Store
import TestSupport
import Testing

@testable import Fanout

/// The rules above the wire that a platform's sender has to fit: each platform passes them.
@Suite struct PlatformTests {
    private func tokens(_ fixture: WorkerFixture) async throws -> Int {
        try await fixture.store.names.info(fixture.app, fixture.name)?.tokens ?? 0
    }

    @Test(arguments: TestPlatform.all)
    func `a push goes to each follower once`(platform: TestPlatform) async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<5, on: platform)
        let wire = platform.wire()
        let ledger = try await fixture.withWorker(senders: [platform.sender(wire)]) {
            try await fixture.finished(try await fixture.publish(on: platform))
        }
        #expect(ledger.state == .done && ledger.targets == 5 && ledger.delivered == 5)
        for number in 0..<5 { #expect(try wire.taken(number).count == 1) }
        if platform.platform == FakeSender.platform {
            let address = String(decoding: try platform.address(3).bytes, as: UTF8.self)
            #expect(try wire.taken(3) == ["update of match-1 for \(address)"] && address.utf8.count == 200)
        }
    }

    @Test(arguments: TestPlatform.all, [TestPlatform.Answer.wrong, .gone])
    func `a dead address is pruned and no other`(platform: TestPlatform, answer: TestPlatform.Answer) async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<5, on: platform)
        let wire = platform.wire { number, _ in number == 2 ? answer : .accepted }
        let (first, second) = try await fixture.withWorker(senders: [platform.sender(wire)]) {
            let first = try await fixture.finished(try await fixture.publish(on: platform))
            return (first, try await fixture.finished(try await fixture.publish(on: platform)))
        }
        #expect(first.delivered == 4 && first.pruned == 1)
        #expect(first.errors == [try #require(platform.rejections[answer]).reason: 1])
        // An address that is kept with its channel is gone for all names, and the channel's names stay.
        let kept = platform.platform.hasOneAddress ? 1 : 0
        #expect(second.targets == 4 + kept && second.delivered == 4 && second.skipped == kept)
        #expect(try await tokens(fixture) == 4 + kept)
    }

    @Test(arguments: TestPlatform.all)
    func `a busy platform is asked again`(platform: TestPlatform) async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<5, on: platform)
        let wire = platform.wire { number, attempt in number < 2 && attempt == 1 ? .busy : .accepted }
        let ledger = try await fixture.withWorker(senders: [platform.sender(wire)]) {
            try await fixture.finished(try await fixture.publish(on: platform))
        }
        #expect(ledger.delivered == 5 && ledger.retries == 2 && wire.total == 7)
    }

    @Test(arguments: TestPlatform.all)
    func `an outage keeps the push, and its end takes the alarm back`(platform: TestPlatform) async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<5, on: platform)
        let wire = platform.wire { _, _ in .unreachable }
        let ledger = try await fixture.withWorker(senders: [platform.sender(wire)]) {
            let id = try await fixture.publish(on: platform)
            await wire.answered(5)
            try await eventually("the alarm") { try await fixture.alarms(.unreachable) == [platform.platform] }
            wire.becomes(.accepted)
            return try await fixture.finished(id)
        }
        #expect(ledger.delivered == 5 && ledger.retries == 0)
        #expect(try await fixture.store.alarms.list([fixture.app]).isEmpty)
    }

    @Test(arguments: TestPlatform.all)
    func `many wrong addresses are quarantined under the platform's alarm`(platform: TestPlatform) async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<8, on: platform)
        let wire = platform.wire { _, _ in .wrong }
        let ledger = try await fixture.withWorker(
            senders: [platform.sender(wire)], live: { $0.pruneGuard.answers = 4 }
        ) {
            try await fixture.finished(try await fixture.publish(on: platform))
        }
        #expect(ledger.pruned == 0 && ledger.failed == 8 && ledger.errors["Quarantined"] == 8)
        #expect(try await fixture.alarms(.pruneGuard).contains(platform.platform))
        #expect(try await tokens(fixture) == 8)
    }

    @Test func `a name's page goes to the platforms of its followers`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<6, on: .apns)
        try await fixture.track(10..<14, on: .fake)
        let wire = TestPlatform.apns.wire { number, attempt in number == 1 && attempt == 1 ? .busy : .accepted }
        let fake = TestPlatform.fake.wire { number, _ in number == 12 ? .gone : .accepted }
        let ledger = try await fixture.withWorker(
            senders: [TestPlatform.apns.sender(wire), TestPlatform.fake.sender(fake)]
        ) {
            try await fixture.finished(try await fixture.publish())
        }
        #expect(ledger.targets == 10 && ledger.delivered == 9 && ledger.pruned == 1 && ledger.retries == 1)
        #expect(wire.total == 7 && fake.total == 4)
    }

    @Test(arguments: [TestPlatform.Answer.forbidden, .unreachable])
    func `a halted platform does not hold up the other one`(answer: TestPlatform.Answer) async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<6, on: .apns)
        try await fixture.track(10..<14, on: .fake)
        let (wire, fake) = (TestPlatform.apns.wire(), TestPlatform.fake.wire { _, _ in answer })
        try await fixture.withWorker(senders: [TestPlatform.apns.sender(wire), TestPlatform.fake.sender(fake)]) {
            for _ in 0..<3 {
                let id = try await fixture.publish()
                try await eventually("APNs has its part") {
                    try await fixture.store.pushes.ledger(fixture.app, id)?.delivered == 6
                }
            }
            let kind: Alarm.Kind = answer == .forbidden ? .credentials : .unreachable
            #expect(try await fixture.alarms(kind) == [FakeSender.platform])
            #expect(try (0..<6).allSatisfy { try wire.taken($0).count == 3 }, "none is sent twice")
        }
    }

    @Test func `tokens that expire raise the alarm of their platform alone`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<2, on: .fcm)
        let id = try await fixture.publish(on: .fcm)
        try await fixture.passDeadline(id)
        let (apns, fcm) = (TestPlatform.apns.wire(), TestPlatform.fcm.wire())
        let ledger = try await fixture.withWorker(
            senders: [TestPlatform.apns.sender(apns), TestPlatform.fcm.sender(fcm)]
        ) {
            try await fixture.finished(id)
        }
        #expect(ledger.state == .expired && ledger.expired == 2 && fcm.total == 0)
        #expect(try await fixture.alarms(.expired) == [.android])
    }

    @Test func `a project that is over its quota pauses, and no attempt is spent`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<5, on: .fcm)
        try await fixture.track(10..<12, on: .apns)
        let quota = Rejection(
            status: 429, reason: FCMReason.quotaExceeded.rawValue, verdict: .pauseApp, retryAfter: 1)
        var platform = TestPlatform.fcm
        platform.rejections[.busy] = quota
        let fcm = platform.wire { _, attempt in attempt == 1 ? .busy : .accepted }
        let apns = TestPlatform.apns.wire()
        let ledger = try await fixture.withWorker(senders: [platform.sender(fcm), TestPlatform.apns.sender(apns)]) {
            try await fixture.finished(try await fixture.publish(on: .fcm))
        }
        #expect(ledger.delivered == 7 && ledger.retries == 5 && ledger.failed == 0)
        #expect(apns.total == 2, "iOS does not wait, and gets nothing twice")
        #expect(try await fixture.store.alarms.list([fixture.app]).isEmpty)
    }

    @Test func `a push during the pause makes no request, and counts neither retries nor errors`() async throws {
        let fixture = try await WorkerFixture.start()
        let other = try ActivityName("match-2")
        let ios = try Registration(
            channel: .random(), token: TestPlatform.apns.address(10), registeredAt: nowMilliseconds() - 60_000)
        var phones: [Registration] = []
        for number in 0..<3 {
            phones.append(
                Registration(
                    channel: .random(), token: try TestPlatform.fcm.address(number),
                    registeredAt: nowMilliseconds() - 60_000))
        }
        _ = try await fixture.store.registry.track(fixture.app, .addresses(on: .android), phones)
        for index in phones.indices { phones[index].token = .ofChannel(on: .android) }
        for name in [fixture.name, other] {
            _ = try await fixture.store.registry.track(fixture.app, .activity(name), [ios] + phones)
        }
        var platform = TestPlatform.fcm
        platform.rejections[.busy] = Rejection(
            status: 429, reason: FCMReason.quotaExceeded.rawValue, verdict: .pauseApp, retryAfter: 300)
        let fcm = platform.wire { _, _ in .busy }
        let senders: [any PlatformSender] = [platform.sender(fcm), TestPlatform.apns.sender(TestPlatform.apns.wire())]
        let (first, second) = try await fixture.withWorker(senders: senders) {
            var ledgers: [Ledger] = []
            for name in [fixture.name, other] {
                let content = PlatformContent(type: "match", contentState: RawJSON(checked: #"{"home":1}"#))
                let id = try await fixture.publish(to: name, android: content)
                try await eventually("iOS has its part") {
                    try await fixture.store.pushes.ledger(fixture.app, id)?.delivered == 1
                }
                ledgers.append(try #require(try await fixture.store.pushes.ledger(fixture.app, id)))
            }
            return (ledgers[0], ledgers[1])
        }
        #expect(first.retries == 3 && first.errors == [FCMReason.quotaExceeded.rawValue: 3], "\(first)")
        #expect(fcm.total == 3, "the second push asks nobody")
        #expect(second.targets == 4 && second.retries == 0 && second.errors.isEmpty, "\(second)")
    }

    @Test func `a message for a device that registered after the push has an id of its own, and keeps it`()
        async throws
    {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<1, on: .fcm)
        let wire = TestPlatform.fcm.wire()
        let id = try await fixture.withWorker(senders: [TestPlatform.fcm.sender(wire)]) {
            let id = try await fixture.publish(on: .fcm)
            _ = try await fixture.finished(id)
            return id
        }
        let text = try #require(try wire.taken(0).first)
        #expect(text.contains(#""com.urbanairship.push.CANONICAL_PUSH_ID":"\#(id)""#))
        let records = try await fixture.store.sweeps.records(fixture.app, fixture.name, [id])
        let record = try #require(records[id])
        let sender = TestPlatform.fcm.sender(wire)
        let (before, after) = (record.createdAt - 60_000, record.createdAt + 1)
        func ids(_ receivers: PushReceivers) -> [String] {
            let push = sender.render(record, fixture.name, for: receivers)
            return [before, after].map { AndroidMessage(push.content(for: [0x74], registeredAt: $0)).id }
        }
        // The clock of a device may be behind.
        for receivers in [PushReceivers.arrivals, .lateJoiners] {
            #expect(ids(receivers) == ["\(id)-\(before)", "\(id)-\(after)"])
        }
        #expect(ids(.followers) == ["\(id)", "\(id)-\(after)"], "a retry of either")
    }

    @Test func `followers on a platform that the worker has not fail for that reason`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<3, on: .apns)
        try await fixture.track(10..<12, on: .fake)
        let wire = TestPlatform.apns.wire()
        let ledger = try await fixture.withWorker(senders: [TestPlatform.apns.sender(wire)]) {
            try await fixture.finished(try await fixture.publish())
        }
        #expect(ledger.delivered == 3 && ledger.failed == 2 && ledger.errors == ["NoSender": 2])
    }
}

extension WorkerFixture {
    func track(_ range: Range<Int>, on platform: TestPlatform) async throws {
        var registrations = try range.map { number in
            Registration(
                channel: .random(), token: try platform.address(number), registeredAt: nowMilliseconds() - 60_000)
        }
        if platform.platform.hasOneAddress {
            _ = try await store.registry.track(app, .addresses(on: platform.platform), registrations)
            for index in registrations.indices { registrations[index].token = .ofChannel(on: platform.platform) }
        }
        let results = try await store.registry.track(app, .activity(name), registrations)
        #expect(results.allSatisfy { $0 == .stored })
    }

    /// Publishes what has a content for the platform.
    func publish(on platform: TestPlatform) async throws -> PushID {
        let content = PlatformContent(type: "match", contentState: RawJSON(checked: #"{"home":1}"#))
        return try await publish(label: "one", android: platform.platform == .android ? content : nil)
    }

    /// The platforms for which an alarm of the kind stands.
    func alarms(_ kind: Alarm.Kind) async throws -> [Platform] {
        try await store.alarms.list([app]).filter { $0.kind == kind }.map(\.platform)
    }
}
