import Delivery
import Foundation
import LiveActivity
import Store
import TestSupport
import Testing

@testable import Fanout

/// Followers whose address is kept with their channel, beside followers with a token for each name.
@Suite struct AndroidSweepTests {
    private static let place = TokenPlace.addresses(on: .android)

    private func run<Value: Sendable>(
        _ fixture: WorkerFixture, apns: TestWire, fcm: TestWire, _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        try await fixture.withWorker(
            senders: [TestPlatform.apns.sender(apns), TestPlatform.fcm.sender(fcm)]) { try await body() }
    }

    private func tokens(_ fixture: WorkerFixture) async throws -> Int {
        try await fixture.store.names.info(fixture.app, fixture.name)?.tokens ?? 0
    }

    @Test func `each follower is reached at its own, and the ledger has a part for each platform`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<4, on: .apns)
        try await fixture.follow(android: 10..<13)
        try await fixture.follow(android: 13..<15, hasAddress: false)
        try await fixture.follow(android: 15..<16, isSilent: true)
        let (apns, fcm) = (TestPlatform.apns.wire(), TestPlatform.fcm.wire())
        let ledger = try await run(fixture, apns: apns, fcm: fcm) {
            try await fixture.finished(try await fixture.publishToAndroid())
        }
        #expect(ledger.state == .done && ledger.targets == 10 && ledger.delivered == 7 && ledger.skipped == 3)
        #expect(ledger.errors == ["NoAddress": 2, "NotificationsOff": 1])
        #expect(
            ledger.byPlatform == [
                .ios: Outcomes(targets: 4, [.delivered: 4]),
                .android: Outcomes(targets: 6, [.delivered: 3, .skipped: 3]),
            ])
        let message = try #require(try fcm.taken(10).first)
        #expect(message.contains(#"\"content_state\":{\"home\":1}"#), "\(message)")
    }

    @Test func `the addresses of a page cost a look at their buckets and at the quarantine`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.follow(android: 0..<50)
        let (tokens, redis) = (fixture.store.tokens, fixture.store.redis)
        let (page, _) = try await tokens.page(
            fixture.app, .activity(fixture.name), from: .start, to: .end, limit: 100)
        let before = try await redis.calls()
        let (addressed, unreachable) = try await tokens.addressed(fixture.app, page)
        let after = try await redis.calls()
        #expect(addressed.count == 50 && unreachable.isEmpty)
        let (more, others) = (["exists", "hgetall"], ["hmget", "evalsha", "hvals"])
        #expect(more.allSatisfy { after[$0, default: 0] == before[$0, default: 0] + 1 }, "\(before) \(after)")
        #expect(others.allSatisfy { after[$0] == before[$0] }, "\(before) \(after)")
    }

    @Test func `a dead address is removed once for all names, and its names stay`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<2, on: .apns)
        try await fixture.follow(android: 10..<14)
        let (apns, fcm) = (
            TestPlatform.apns.wire(), TestPlatform.fcm.wire { number, _ in number == 11 ? .gone : .accepted }
        )
        let (first, second) = try await run(fixture, apns: apns, fcm: fcm) {
            let first = try await fixture.finished(try await fixture.publishToAndroid())
            return (first, try await fixture.finished(try await fixture.publishToAndroid()))
        }
        #expect(first.delivered == 5 && first.pruned == 1)
        #expect(first.byPlatform[.android] == Outcomes(targets: 4, [.delivered: 3, .pruned: 1]))
        #expect(first.byPlatform[.ios] == Outcomes(targets: 2, [.delivered: 2]))
        #expect(second.delivered == 5 && second.skipped == 1 && second.errors == ["NoAddress": 1])
        #expect(try fcm.taken(10).count == 2 && fcm.total == 7)
        #expect(try await tokens(fixture) == 6)
    }

    @Test func `a busy answer is tried again at the present address, and counts for its platform`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<1, on: .apns)
        try await fixture.follow(android: 10..<13)
        let (apns, fcm) = (
            TestPlatform.apns.wire(),
            TestPlatform.fcm.wire { number, attempt in number == 11 && attempt == 1 ? .busy : .accepted }
        )
        let ledger = try await run(fixture, apns: apns, fcm: fcm) {
            try await fixture.finished(try await fixture.publishToAndroid())
        }
        #expect(ledger.delivered == 4 && ledger.retries == 1)
        #expect(ledger.byPlatform[.android] == Outcomes(targets: 3, [.delivered: 3]))
    }

    @Test func `a start whose address died goes to the newer one that the channel told meanwhile`() async throws {
        let fixture = try await WorkerFixture.start()
        @Sendable func address(_ number: Int) throws -> Registration {
            Registration(
                channel: try WorkerFixture.androidChannel(10), token: try TestPlatform.fcm.address(number),
                registeredAt: nowMilliseconds())
        }
        _ = try await fixture.store.registry.track(fixture.app, Self.place, [try address(10)])
        let gate = Gate()
        let fcm = TestPlatform.fcm.wire { number, _ in number == 10 ? .gone : .accepted }
        let sender = HeldSender(sender: TestPlatform.fcm.sender(fcm), gate: gate)
        let ledger = try await fixture.withWorker(senders: [TestPlatform.apns.sender(TestPlatform.apns.wire()), sender])
        {
            let id = try await fixture.publishToAndroid(.start)
            await gate.reached()
            _ = try await fixture.store.registry.track(fixture.app, Self.place, [try address(110)])
            await gate.open()
            return try await fixture.finished(id)
        }
        #expect(ledger.delivered == 1 && ledger.retries == 1, "\(ledger)")
        #expect(try fcm.taken(110).count == 1)
    }

    @Test func `a push that asks for it reaches silent devices, also when it is tried again and as a start`()
        async throws
    {
        let fixture = try await WorkerFixture.start()
        try await fixture.follow(android: 10..<13, isSilent: true)
        let fcm = TestPlatform.fcm.wire { number, attempt in number == 11 && attempt == 1 ? .busy : .accepted }
        var content = WorkerFixture.androidContent
        content.reachesSilent = true
        let (update, start, usual) = try await run(fixture, apns: TestPlatform.apns.wire(), fcm: fcm) { [content] in
            let update = try await fixture.finished(try await fixture.publishToAndroid(.update, content))
            let start = try await fixture.finished(try await fixture.publishToAndroid(.start, content, restarts: true))
            return (update, start, try await fixture.finished(try await fixture.publishToAndroid()))
        }
        #expect(update.delivered == 3 && update.retries == 1 && update.errors["NotificationsOff"] == nil, "\(update)")
        #expect(start.delivered == 3, "\(start)")
        #expect(usual.delivered == 0 && usual.errors == ["NotificationsOff": 3], "\(usual)")
    }

    /// The app tells a new address while the page is on its way, and FCM calls the old one dead.
    @Test func `a dead address is no loss if the channel told a newer one meanwhile`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.follow(android: 10..<13)
        let gate = Gate()
        let fcm = TestPlatform.fcm.wire { number, _ in number == 11 ? .gone : .accepted }
        let sender = HeldSender(sender: TestPlatform.fcm.sender(fcm), gate: gate)
        let ledger = try await fixture.withWorker(senders: [TestPlatform.apns.sender(TestPlatform.apns.wire()), sender])
        {
            let id = try await fixture.publishToAndroid(alert: false)
            await gate.reached()
            let newer = Registration(
                channel: try WorkerFixture.androidChannel(11), token: try TestPlatform.fcm.address(111),
                registeredAt: nowMilliseconds())
            _ = try await fixture.store.registry.track(fixture.app, Self.place, [newer])
            await gate.open()
            return try await fixture.finished(id)
        }
        #expect(ledger.delivered == 3 && ledger.failed == 0 && ledger.retries == 1, "\(ledger)")
        #expect(try fcm.taken(111).count == 1)
        let kept = try await fixture.store.tokens.lookup(
            fixture.app, Self.place, [WorkerFixture.androidChannel(11).stored])
        #expect(kept.page.count == 1)
    }

    @Test func `a push for one platform has no targets on the other`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<2, on: .apns)
        try await fixture.follow(android: 10..<13)
        let (apns, fcm) = (TestPlatform.apns.wire(), TestPlatform.fcm.wire())
        let (ios, android) = try await run(fixture, apns: apns, fcm: fcm) {
            let ios = try await fixture.finished(try await fixture.publish(.platform(.ios)))
            return (
                ios,
                try await fixture.finished(
                    try await fixture.publishToAndroid(alone: true, audience: .platform(.android)))
            )
        }
        #expect(ios.targets == 2 && ios.delivered == 2 && ios.byPlatform.isEmpty)
        #expect(android.targets == 3 && android.delivered == 3)
        #expect(android.byPlatform == [.android: Outcomes(targets: 3, [.delivered: 3])])
        // Without the audience too: an app that had one platform when it published.
        let plain = try await run(fixture, apns: apns, fcm: fcm) {
            try await fixture.finished(try await fixture.publish())
        }
        #expect(plain.targets == 2 && plain.delivered == 2)
    }

    @Test func `an end removes the followers of both platforms`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<2, on: .apns)
        try await fixture.follow(android: 10..<13)
        let (apns, fcm) = (TestPlatform.apns.wire(), TestPlatform.fcm.wire())
        let ledger = try await run(fixture, apns: apns, fcm: fcm) {
            try await fixture.finished(try await fixture.publishToAndroid(.end))
        }
        #expect(ledger.delivered == 5 && ledger.byPlatform[.android] == Outcomes(targets: 3, [.delivered: 3]))
        #expect(try await tokens(fixture) == 0)
        // The addresses are for other names too.
        let kept = try await fixture.store.tokens.lookup(
            fixture.app, Self.place, [WorkerFixture.androidChannel(10).stored])
        #expect(kept.page.count == 1)
    }

    /// The phones had a card when the start came, so it made no card whose report is still to come.
    @Test func `an end is not for cards that begin after it, whatever was started before`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.follow(android: 10..<13)
        let (apns, fcm) = (TestPlatform.apns.wire(), TestPlatform.fcm.wire())
        let ledger = try await run(fixture, apns: apns, fcm: fcm) {
            _ = try await fixture.finished(try await fixture.publishToAndroid(.start, restarts: true))
            _ = try await fixture.finished(try await fixture.publishToAndroid(.end))
            let again = try (10..<13).map { number in
                Registration(
                    channel: try WorkerFixture.androidChannel(number), token: .ofChannel(on: .android),
                    registeredAt: nowMilliseconds())
            }
            _ = try await fixture.store.registry.track(fixture.app, .activity(fixture.name), again)
            return try await fixture.finished(try await fixture.publishToAndroid())
        }
        #expect(ledger.targets == 3 && ledger.delivered == 3, "\(ledger)")
        #expect(try await tokens(fixture) == 3)
        #expect(try fcm.taken(10).count == 3)
    }

    @Test func `a start goes to the start tokens of its type and to every address that does not follow`() async throws {
        let fixture = try await WorkerFixture.start()
        let starts = try (0..<300).map { number in
            Registration(
                channel: .random(), token: try #require(WorkerFixture.token(number)), registeredAt: nowMilliseconds())
        }
        _ = try await fixture.store.registry.track(fixture.app, .startTokens(of: "Match"), starts)
        let addresses = try (1_000..<1_500).map { number in
            Registration(
                channel: try WorkerFixture.androidChannel(number), token: try TestPlatform.fcm.address(number),
                registeredAt: nowMilliseconds(), frequentPushesEnabled: number == 1_001 ? false : nil)
        }
        _ = try await fixture.store.registry.track(fixture.app, Self.place, addresses)
        try await fixture.follow(android: 1_000..<1_001, hasAddress: false)
        let (apns, fcm) = (TestPlatform.apns.wire(), TestPlatform.fcm.wire())
        let ledger = try await fixture.withWorker(
            senders: [TestPlatform.apns.sender(apns), TestPlatform.fcm.sender(fcm)], pageSize: 100
        ) {
            try await fixture.finished(try await fixture.publishToAndroid(.start))
        }
        #expect(ledger.targets == 800 && ledger.delivered == 798 && ledger.skipped == 2, "\(ledger)")
        #expect(ledger.errors["NotificationsOff"] == 1)
        #expect(apns.total == 300 && fcm.total == 498)
        #expect(ledger.byPlatform[.ios] == Outcomes(targets: 300, [.delivered: 300]))
    }

    @Test func `a device that lost its card gets the newest state as a start, and updates once it has told of it`()
        async throws
    {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<2, on: .apns)
        try await fixture.follow(android: 10..<12)
        let (apns, fcm) = (TestPlatform.apns.wire(), TestPlatform.fcm.wire())
        @Sendable func state(_ home: Int, type: String? = nil) -> PlatformContent {
            PlatformContent(type: type, contentState: RawJSON(checked: #"{"home":\#(home)}"#))
        }
        @Sendable func told(_ token: PushToken) async throws -> Int64 {
            let at = nowMilliseconds()
            let registration = Registration(
                channel: try WorkerFixture.androidChannel(10), token: token, registeredAt: at,
                wantsState: token == .withoutCard(on: .android))
            _ = try await fixture.store.registry.track(fixture.app, .activity(fixture.name), registration)
            return at
        }
        let lostAt = try await run(fixture, apns: apns, fcm: fcm) {
            // An update without a type comes after one with it.
            _ = try await fixture.finished(try await fixture.publishToAndroid(.update, state(1, type: "match")))
            _ = try await fixture.finished(try await fixture.publishToAndroid(.update, state(2)))
            let lostAt = try await told(.withoutCard(on: .android))
            await fcm.answered(5)
            _ = try await fixture.finished(try await fixture.publishToAndroid(.update, state(3)))
            _ = try await told(.ofChannel(on: .android))
            await fcm.answered(8)
            _ = try await fixture.finished(try await fixture.publishToAndroid(.update, state(4)))
            return lostAt
        }
        let (lost, other) = (try fcm.messages(10), try fcm.messages(11))
        #expect(lost.map(\.event) == ["update", "update", "start", "start", "update", "update"])
        #expect(lost.map(\.home) == [1, 2, 2, 3, 3, 4])
        #expect(Set(lost.map(\.id)).count == 6)
        #expect(other.map(\.event) == ["update", "update", "update", "update"])
        #expect(other.map(\.home) == [1, 2, 3, 4])
        #expect(try fcm.taken(10)[2].contains(#"\"type\":\"match\""#))
        // A device takes no start from before it lost the card.
        let times = lost.map { Int64($0.second) * 1_000 }
        #expect(times[2] >= lostAt && times[3] >= lostAt, "\(times)")
    }

    @Test func `an end takes a device without a card away too`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.follow(android: 10..<11)
        func lose() async throws {
            let lost = Registration(
                channel: try WorkerFixture.androidChannel(10), token: .withoutCard(on: .android),
                registeredAt: nowMilliseconds(),
                wantsState: true)
            _ = try await fixture.store.registry.track(fixture.app, .activity(fixture.name), lost)
        }
        try await lose()
        let (apns, fcm) = (TestPlatform.apns.wire(), TestPlatform.fcm.wire())
        let ledger = try await run(fixture, apns: apns, fcm: fcm) {
            try await fixture.finished(try await fixture.publishToAndroid(.end))
        }
        #expect(ledger.delivered == 1)
        #expect(try await tokens(fixture) == 0)
        #expect(try fcm.messages(10).map(\.event) == ["end"])
        // The name is closed, so a card that an update of the app has cleared does not come back.
        try await lose()
        #expect(try await tokens(fixture) == 0)
    }

    /// FCM takes a hundredth of what APNs takes in a second.
    @Test func `in a large name iOS has its push while Android's is held up`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<3_000, on: .apns)
        try await fixture.follow(android: 10_000..<12_000)
        let gate = Gate()
        let apns = TestPlatform.apns.wire()
        let fcm = TestPlatform.fcm.wire()
        let ledger = try await fixture.withWorker(
            senders: [TestPlatform.apns.sender(apns), HeldSender(sender: TestPlatform.fcm.sender(fcm), gate: gate)],
            pageSize: 100
        ) {
            let id = try await fixture.publishToAndroid()
            await apns.answered(3_000)
            #expect(fcm.total == 0)
            await gate.open()
            return try await fixture.finished(id)
        }
        #expect(ledger.targets == 5_000 && ledger.delivered == 5_000)
        #expect(ledger.byPlatform[.android] == Outcomes(targets: 2_000, [.delivered: 2_000]))
        #expect(apns.total == 3_000 && fcm.total == 2_000)
    }
}
