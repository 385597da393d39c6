import Foundation
import Synchronization
import TestSupport
import Testing

@testable import LamplighterKit

/// The registrar with a double of ActivityKit, also at its worst, and what reaches the gateway.
@Suite struct RegistrarTests {
    private let directory: TemporaryDirectory
    private let gateway = FakeGateway()
    private let phone = SimulatedActivities(type: "MatchAttributes")
    /// Of each launch, so that a test brings its app alone to the foreground.
    private let notices = NotificationCenter()

    init() throws { directory = try TemporaryDirectory() }

    private func launch(_ phone: SimulatedActivities? = nil, isApp: Bool = true) async -> Lamplighter {
        let kit = gateway.kit(directory.path("kit"), isApp: isApp, notices: notices)
        for _ in 0..<2 { await kit.follow(phone ?? self.phone) }
        return kit
    }

    private func comeToForeground() { notices.post(name: Lamplighter.foreground, object: nil) }

    private func token(_ byte: UInt8) -> Data { Data([byte]) }

    /// Waits until as many requests with all of these parts were made, or more: two launches of a test are one process,
    /// and may both send.
    private func expect(_ parts: String..., count: Int = 1) async throws {
        try await eventually("\(parts) in \(gateway.requests)", within: .seconds(60)) { requests(parts) >= count }
    }

    private func requests(_ parts: [String]) -> Int {
        gateway.requests.count { request in parts.allSatisfy { (request.path + request.body).contains($0) } }
    }

    private func expectNone(_ parts: String..., of kit: Lamplighter) async {
        await kit.registrar.look()
        await kit.outbox.sent()
        #expect(requests(parts) == 0, "\(gateway.requests)")
    }

    /// Brings the app to the foreground until a request with all of these parts was made.
    private func expectInForeground(_ parts: String...) async throws {
        try await eventually("\(parts) in \(gateway.requests)", within: .seconds(60)) {
            comeToForeground()
            return requests(parts) > 0
        }
    }

    @Test func `an activity that exists, begins, rotates and ends is reported`() async throws {
        phone.begin("E1", name: "match-1", token: token(1))
        _ = await launch()
        try await expect("/activities/match-1/", #""activity_id":"E1""#, #""token":"01""#)
        phone.begin("E2", name: "match-2", token: nil)
        phone.rotate("E2", to: token(2))
        try await expect("/activities/match-2/", #""activity_id":"E2""#, #""token":"02""#)
        phone.rotate("E2", to: token(3))
        try await expect("/activities/match-2/", #""token":"03""#, "started_at_ms")
        phone.show("mark-1", on: "E2")
        try await expect("/receipts", #"{"event":"shown","push_id":"mark-1"}"#)
        phone.dismiss("E2")
        try await expect("/sdk/batch/", #""action":"remove""#, #""id":"E2","name":"match-2""#)
        try await expect("/receipts", #"{"event":"dismissed","push_id":"mark-1"}"#)
        phone.end("E1")
        try await expect("/sdk/batch/", #""id":"E1""#)
    }

    @Test func `what ended while the app was away is reported at the next launch`() async throws {
        phone.begin("E1", name: "match-1", token: token(1))
        phone.begin("E2", name: "match-2", token: token(2))
        _ = await launch()
        try await expect(#""activity_id":"E1""#)
        try await expect(#""activity_id":"E2""#)
        phone.endSequences()
        phone.leave("E2")
        let kit = await launch()
        try await expect("/sdk/batch/", #""id":"E2""#)
        try await expect(#""activity_id":"E1""#, count: 2)
        await expectNone("/sdk/batch/", #""id":"E1""#, of: kit)
    }

    @Test func `a start token and the setting for frequent pushes are reported`() async throws {
        phone.begin("E1", name: "match-1", token: token(1))
        phone.setStartToken(token(0xaa))
        _ = await launch()
        try await expect("/start-tokens/MatchAttributes/", #""token":"aa""#)
        try await expect("/activities/match-1/", #""frequent_pushes_enabled":true"#)
        phone.setFrequentPushes(false)
        try await expect("/activities/match-1/", #""frequent_pushes_enabled":false"#)
    }

    @Test func `an activity that starts later counts from its start`() async throws {
        phone.begin("E1", name: "match-1", token: token(1), startsLater: true)
        let kit = await launch()
        try await expect(#""activity_id":"E1""#)
        phone.activate("E1")
        try await expect(#""activity_id":"E1""#, count: 2)
        await expectNone("started_at_ms", of: kit)
    }

    @Test func `an activity on a broadcast channel registers nothing`() async throws {
        phone.begin("E1", name: "match-1", token: nil)
        let kit = await launch()
        phone.dismiss("E1")
        await expectNone("/activities/", of: kit)
    }

    // MARK: ActivityKit at its worst

    @Test func `a list that is late after a launch hides no card, and no rotation of its token`() async throws {
        phone.begin("E1", name: "match-1", token: token(1))
        _ = await launch()
        try await expect("/activities/match-1/", #""token":"01""#)
        phone.endSequences()
        phone.rotate("E1", to: token(2))
        phone.listNothing(looks: 1)
        let kit = await launch()
        try await expect("/activities/match-1/", #""token":"02""#)
        phone.rotate("E1", to: token(3))
        try await expect("/activities/match-1/", #""token":"03""#)
        await expectNone("/sdk/batch/", of: kit)
    }

    @Test func `a card that a push starts in the background is followed once it is listed`() async throws {
        let kit = await launch()
        await expectNone("/activities/", of: kit)
        phone.listNothing(looks: 7)
        phone.begin("E1", name: "match-1", token: token(1))
        try await expect("/activities/match-1/", #""token":"01""#)
        phone.rotate("E1", to: token(2))
        try await expect("/activities/match-1/", #""token":"02""#)
        await expectNone("/sdk/batch/", of: kit)
    }

    @Test func `sequences that end while the card lives are begun again`() async throws {
        phone.begin("E1", name: "match-1", token: token(1))
        _ = await launch()
        try await expect("/activities/match-1/", #""token":"01""#)
        phone.endSequences()
        phone.rotate("E1", to: token(2))
        try await expectInForeground("/activities/match-1/", #""token":"02""#)
        phone.show("mark-1", on: "E1")
        try await expectInForeground("/receipts", #"{"event":"shown","push_id":"mark-1"}"#)
        phone.end("E1")
        try await expectInForeground("/sdk/batch/", #""id":"E1""#)
    }

    @Test func `a process that lists no card removes none`() async throws {
        phone.begin("E1", name: "match-1", token: token(1))
        let kit = await launch()
        try await expect("/activities/match-1/", #""token":"01""#)
        phone.listNothing(looks: .max)
        await expectNone("/sdk/batch/", of: kit)
    }

    @Test func `an extension removes no card, whatever it lists`() async throws {
        for number in 1...2 { phone.begin("E\(number)", name: "match-\(number)", token: token(UInt8(number))) }
        _ = await launch()
        for number in 1...2 { try await expect("/activities/match-\(number)/") }
        let inExtension = SimulatedActivities(type: "MatchAttributes")
        inExtension.begin("E1", name: "match-1", token: token(1))
        let kit = await launch(inExtension, isApp: false)
        await expectNone("/sdk/batch/", of: kit)
    }

    @Test func `an empty list is believed once Live Activities are off`() async throws {
        phone.begin("E1", name: "match-1", token: token(1))
        _ = await launch()
        try await expect("/activities/match-1/", #""token":"01""#)
        phone.switchOff()
        comeToForeground()
        try await expect("/sdk/batch/", #""id":"E1""#)
    }

    @Test func `a start token and a card's token that no sequence tells of are found`() async throws {
        phone.begin("E1", name: "match-1", token: token(1))
        phone.setStartToken(token(0xaa))
        _ = await launch()
        try await expect("/activities/match-1/", #""token":"01""#)
        try await expect("/start-tokens/MatchAttributes/", #""token":"aa""#)
        phone.setSilent(true)
        phone.setStartToken(token(0xbb))
        phone.rotate("E1", to: token(2))
        comeToForeground()
        try await expect("/start-tokens/MatchAttributes/", #""token":"bb""#)
        try await expect("/activities/match-1/", #""token":"02""#)
    }

    @Test func `a property that lags behind its sequence replaces no newer token`() {
        var reading = TokenReading()
        #expect(reading.read(token(1)) && !reading.heard(token(1)))
        #expect(reading.heard(token(2)) && !reading.read(token(1)) && reading.newest == token(2))
        #expect(reading.read(token(3)) && reading.newest == token(3) && !reading.read(nil))
    }

    // MARK: Users

    @Test func `an install that opts out is forgotten, and reports nothing until it opts in`() async throws {
        phone.begin("E1", name: "match-1", token: token(1))
        phone.setStartToken(token(0xaa))
        let kit = await launch()
        try await expect("/activities/match-1/")
        try await expect("/start-tokens/")
        await kit.optOut()
        try await expect("/sdk/batch/", #""id":"E1""#)
        try await expect("/sdk/batch/", #""attributes_type":"MatchAttributes""#, #""type":"start_token""#)
        await kit.outbox.sent()
        let before = gateway.requests.count
        // The next launch knows it too.
        let next = await launch()
        phone.rotate("E1", to: token(2))
        phone.setStartToken(token(0xbb))
        await next.registrar.look()
        await next.outbox.sent()
        #expect(gateway.requests.count == before)
        await next.optIn()
        try await expect("/activities/match-1/", #""token":"02""#)
        try await expect("/start-tokens/MatchAttributes/", #""token":"bb""#)
    }

    @Test func `the next user has another channel, once the gateway has forgotten the last one`() async throws {
        phone.begin("E1", name: "match-1", token: token(1))
        let kit = await launch()
        try await expect("/activities/match-1/")
        await kit.outbox.sent()
        let last = try await kit.installID
        gateway.answer(nil)
        let error = await #expect(throws: LamplighterError.self) { try await kit.logOut() }
        #expect(error?.kind == .delayed)
        #expect(try await kit.installID == last)
        try await expect("/sdk/batch/\(last)", #""id":"E1""#, count: 2)
        try await kit.logOut()
        let next = try await kit.installID
        #expect(next != last)
        try await expect("/activities/match-1/channels/\(next)", #""token":"01""#)
        let stored = try FileInstallStore(directory: URL(fileURLWithPath: directory.path("kit"))).stored()
        #expect(stored == next)
    }
}
