import Delivery
import LiveActivity
import TestSupport
import Testing

@testable import Lanes

/// Tests when a page gets a part back whose requests are on their way.
@Suite struct PartInFlightTests {
    @Test func `a page waits for a part with entries that no connection has`() async {
        let outcome = await withCheckedContinuation { (sender: CheckedContinuation<PageOutcome, Never>) in
            var page = TokenPage()
            for number in 0..<3 { page.append(channel: [1], token: [UInt8(number)], registeredAt: 0, attempt: 0) }
            let push = PreparedPush(path: .shared("/"), fields: [], body: .shared([]))
            let answers = PageAnswers(3, Handover(), RequestCount(), sender)
            let shared = SharedPage(page, push, AlwaysPermitted(), answers)
            let part = PartInFlight(PagePart(shared: shared, range: 0..<3), template: (), credentialNumber: 1, now: 0)
            // The connection ended behind the first entry.
            #expect(part.next() == 0)
            #expect(!part.mayBeLeftOpen(now: 60_000, patience: 500), "two entries would never be sent")
            #expect(part.next() == 1 && part.next() == 2)
            part.repeats = 1
            #expect(!part.mayBeLeftOpen(now: 60_000, patience: 500), "a request waits to be sent again")
            part.repeats = 0
            part.accept(1)
            #expect(part.mayBeLeftOpen(now: 60_000, patience: 500))
            part.leaveOpen()
        }
        #expect(outcome.accepted == 1 && outcome.open == [0, 2])
    }

    /// A connection that was left may hold requests back until their time is over.
    @Test func `requests that have not left hold the parts that were begun before, and no later ones`() async throws {
        let queue = try #require(PageQueue(lanes: 1))
        let platform = LanePlatform(FakePush.name, credentials: FakeAccessTokens(), rejection: FakePush.rejection)
        let settings = LaneSettings(
            platform, origin: try #require(Origin("https://127.0.0.1:1")), caFile: nil, requestTimeout: .seconds(10),
            maximumStreams: 100, app: "shop", clock: wallClock, logger: LogLines().logger)
        let requests = LaneRequests<Int>(settings, LaneHandle(queue: queue, number: 0)) { _, _ in 1 }
        #expect(requests.refreshCredential())
        var pages: [Task<PageOutcome, Never>] = []
        for time in [1_000, 2_000] as [Int64] {
            pages.append(
                Task {
                    await withCheckedContinuation { sender in
                        let answers = PageAnswers(1, Handover(), RequestCount(), sender)
                        var page = TokenPage()
                        page.append(channel: [1], token: FakePush.address(1), registeredAt: 0)
                        _ = queue.post(SharedPage(page, FakePush.push(1), AlwaysPermitted(), answers))
                    }
                })
            try await eventually("the page is posted") { !queue.isEmpty }
            requests.now = time
            #expect(requests.next(PageQueue.Capacity(room: 1)) != nil)
        }
        let due = [Int64.min, 1_000, 2_000, .max].map { requests.nextOpen(begunAfter: $0) }
        #expect(due == [1_500, 2_500, nil, nil])
        requests.now = 3_000
        requests.leaveOpen(begunAfter: 1_000)
        #expect(await pages[1].value.open == [0])
        #expect(requests.nextOpen(begunAfter: .min) != nil, "the other page keeps its request")
        requests.leaveOpen(begunAfter: .max)
        #expect(requests.nextOpen(begunAfter: .min) != nil)
        requests.leaveOpen(begunAfter: .min)
        #expect(await pages[0].value.open == [0] && requests.nextOpen(begunAfter: .min) == nil)
    }
}
