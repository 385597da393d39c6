import Delivery
import LiveActivity
import Store
import TestSupport
import Testing

@testable import Fanout

/// A platform that calls the payload or the configuration wrong fails its own tokens of a push for several platforms.
@Suite struct RefusalTests {
    private static let reason = "WrongForAll"

    /// The platform with an answer that blames the push, in the place of `forbidden`.
    private static func refusing(_ platform: TestPlatform) -> TestPlatform {
        var platform = platform
        platform.rejections[.forbidden] = Rejection(status: 400, reason: reason, verdict: .stopPush)
        return platform
    }
    private let apns = RefusalTests.refusing(.apns)
    private let fcm = RefusalTests.refusing(.fcm)

    private func run<Value: Sendable>(
        _ fixture: WorkerFixture, _ ios: TestWire, _ android: TestWire, pageSize: Int = 1_000, openPages: Int = 4,
        _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        try await fixture.withWorker(
            senders: [apns.sender(ios), fcm.sender(android)], pageSize: pageSize, live: { $0.openPages = openPages }
        ) { try await body() }
    }

    @Test(arguments: [Platform.ios, .android])
    func `one platform's verdict fails its tokens and no other, until an operator retries`(
        refused: Platform
    ) async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<3, on: .apns)
        try await fixture.track(10..<13, on: .fcm)
        let first = refused == .ios ? 0 : 10
        // The second one waits for its retry, to which nothing is sent any more.
        let rule: @Sendable (Int, Int) -> TestPlatform.Answer = { number, attempt in
            if attempt > 1 { return .accepted }
            return number == first ? .forbidden : number == first + 1 ? .busy : .accepted
        }
        let (ios, android) = (apns.wire(rule), fcm.wire(rule))
        let (ledger, letter, retried) = try await run(fixture, ios, android) {
            let id = try await fixture.publish(on: .fcm)
            let ledger = try await fixture.finished(id)
            #expect(ios.total == 3 && android.total == 3, "the one that waited is not tried again")
            let letter = try await fixture.store.deadLetters.letter(fixture.app, id)
            let retry = try await fixture.store.deadLetters.retry(fixture.app, id)
            #expect(retry == .taken(tokens: 2, isResumed: false))
            return (ledger, letter, try await fixture.finished(id))
        }
        #expect(ledger.state == .done && ledger.failed == 2 && ledger.delivered == 4, "\(ledger)")
        #expect(ledger.errors[Self.reason] == 2)
        let other: Platform = refused == .ios ? .android : .ios
        #expect(ledger.byPlatform[refused] == Outcomes(targets: 3, [.delivered: 1, .failed: 2]))
        #expect(ledger.byPlatform[other] == Outcomes(targets: 3, [.delivered: 3]))
        #expect(letter?.reasons == [Self.reason: 2] && letter?.stopped == nil && letter?.kept == 2)
        #expect(retried.state == .done && retried.delivered == 6 && retried.failed == 0, "\(retried)")
    }

    @Test func `no later page goes to the platform that refused one`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<1_500, on: .apns)
        try await fixture.track(2_000..<2_300, on: .fcm)
        let (ios, android) = (apns.wire { _, _ in .forbidden }, fcm.wire())
        let ledger = try await run(fixture, ios, android, pageSize: 100, openPages: 1) {
            try await fixture.finished(try await fixture.publish(on: .fcm))
        }
        #expect(ledger.state == .done && ledger.targets == 1_800, "\(ledger)")
        #expect(ledger.byPlatform[.ios] == Outcomes(targets: 1_500, [.failed: 1_500]))
        #expect(ledger.byPlatform[.android] == Outcomes(targets: 300, [.delivered: 300]))
        // Each shard sends its first page before it knows.
        #expect(ios.total < 750 && android.total == 300, "\(ios.total)")
    }

    @Test func `a push that all of its platforms refuse stops`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<2, on: .apns)
        try await fixture.track(10..<13, on: .fcm)
        let (ios, android) = (apns.wire { _, _ in .forbidden }, fcm.wire { _, _ in .forbidden })
        let (ledger, letter) = try await run(fixture, ios, android) {
            let id = try await fixture.publish(on: .fcm)
            return (try await fixture.finished(id), try await fixture.store.deadLetters.letter(fixture.app, id))
        }
        #expect(ledger.state == .failed && ledger.failed == 5, "\(ledger)")
        #expect(letter?.stopped == Self.reason)
    }

    /// The other platform has no follower, so the update before it is what the cards show.
    @Test func `a push that reached nobody ends as a stopped one`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<2, on: .apns)
        let (ios, android) = (apns.wire { _, _ in .forbidden }, fcm.wire())
        let (ledger, retried) = try await run(fixture, ios, android) {
            let id = try await fixture.publish(on: .fcm)
            let ledger = try await fixture.finished(id)
            ios.becomes(.accepted)
            let retry = try await fixture.store.deadLetters.retry(fixture.app, id)
            #expect(retry == .taken(tokens: 2, isResumed: true))
            return (ledger, try await fixture.finished(id))
        }
        #expect(ledger.state == .failed && ledger.failed == 2 && android.total == 0, "\(ledger)")
        #expect(retried.state == .done && retried.delivered == 2 && retried.failed == 0, "\(retried)")
    }
}
