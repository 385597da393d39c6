import Delivery
import Glibc
import LiveActivity
import Testing

@testable import Lanes

/// Tests which lane gets which work, without a connection.
@Suite struct PageQueueTests {
    private let queue: PageQueue

    init() throws { queue = try #require(PageQueue(lanes: 3)) }

    /// Posts a page. Its outcome comes when the whole page is settled.
    private func post(_ count: Int, attempt: Int = 0) async -> (page: SharedPage, outcome: Task<PageOutcome, Never>) {
        let (pages, input) = AsyncStream<SharedPage>.makeStream()
        let outcome = Task { [queue] in
            await withCheckedContinuation { (continuation: CheckedContinuation<PageOutcome, Never>) in
                let push = PreparedPush(path: .shared("/"), fields: [], body: .shared([]))
                var page = TokenPage()
                for number in 0..<count {
                    page.append(channel: [1], token: [UInt8(number & 0xFF)], registeredAt: 0, attempt: attempt)
                }
                let answers = PageAnswers(count, nil, RequestCount(), continuation)
                let shared = SharedPage(page, push, AlwaysPermitted(), answers)
                if !queue.post(shared) { PagePart(shared: shared, range: 0..<count).settleUnsent(.cancelled) }
                input.yield(shared)
            }
        }
        for await page in pages { return (page, outcome) }
        preconditionFailure("the stream does not end")
    }

    /// The lanes that were woken and have not looked yet.
    private var awakened: [Int] {
        (0..<3).filter { lane in
            var descriptor = pollfd(fd: queue.descriptor(lane), events: Int16(POLLIN), revents: 0)
            return poll(&descriptor, 1, 0) == 1
        }
    }

    private func connected(room: Int, pace: Int64 = 10) -> PageQueue.Capacity {
        PageQueue.Capacity(room: room, isConnected: true, pace: pace)
    }

    private let unconnected = PageQueue.Capacity(room: 1)

    private func finish(_ page: SharedPage, _ count: Int) { page.answers.add(PageOutcome(accepted: count)) }

    @Test func `a page is taken in parts and pages take turns`() async throws {
        let first = await post(100)
        let second = await post(40)
        var taken: [Range<Int>] = []
        for _ in 0..<6 { taken.append(try #require(queue.take(32, 0, connected(room: 500))).range) }
        #expect(taken == [0..<32, 0..<32, 32..<64, 32..<40, 64..<96, 96..<100])
        #expect(queue.isEmpty)
        finish(first.page, 100)
        finish(second.page, 40)
        #expect(await first.outcome.value.accepted == 100)
        #expect(await second.outcome.value.accepted == 40)
    }

    @Test func `small pages go before large ones but not for ever`() async throws {
        let large = await post(100)
        #expect(try #require(queue.take(5, 0, connected(room: 5))).range == 0..<5)
        var small: [SharedPage] = []
        for _ in 0...PageQueue.smallPagesInARow { small.append(await post(1).page) }
        var taken: [Bool] = []
        for _ in 0..<PageQueue.smallPagesInARow + 3 {
            taken.append(try #require(queue.take(32, 0, connected(room: 500))).shared === large.page)
        }
        #expect(taken == Array(repeating: false, count: PageQueue.smallPagesInARow) + [true, false, true])
        for page in small { finish(page, 1) }
        finish(large.page, 100)
    }

    @Test func `large pages leave streams to small ones`() async throws {
        let large = await post(1_000)
        let capacity = PageQueue.Capacity(room: 33, reserve: 3, isConnected: true)
        #expect(try #require(queue.take(32, 0, capacity)).range == 0..<30)
        let full = PageQueue.Capacity(room: 3, reserve: 3, isConnected: true)
        #expect(queue.take(3, 0, full)?.range == nil)
        for lane in 0..<3 { #expect(queue.sleepIfIdle(lane, full), "what waits is not for these streams") }
        #expect(awakened == [])
        let small = await post(1)
        #expect(awakened == [0])
        #expect(!queue.wokeUp(0))
        #expect(try #require(queue.take(3, 0, full)).shared === small.page)
        #expect(queue.sleepIfIdle(0, PageQueue.Capacity(room: 2, reserve: 3, isConnected: true)))
        finish(small.page, 1)
        finish(large.page, 1_000)
    }

    @Test func `a lane that spreads a large page is the one that goes on with it`() async throws {
        let large = await post(500)
        let paced = PageQueue.Capacity(room: 1_000, reserve: 31, roomLater: 990, isConnected: true)
        #expect(try #require(queue.take(32, 0, paced)).range == 0..<10)
        #expect(queue.sleepIfIdle(0, PageQueue.Capacity(room: 990, reserve: 31, roomLater: 990, isConnected: true)))
        #expect(
            queue.sleepIfIdle(1, unconnected) && awakened == [],
            "no connection is made for what one comes for by itself")
        let small = await post(1)
        #expect(awakened == [0])
        #expect(!queue.wokeUp(0))
        #expect(try #require(queue.take(1, 0, paced)).shared === small.page)
        #expect(!queue.sleepIfIdle(0, connected(room: 990)), "its time has come")
        let second = await post(1_000)
        #expect(awakened == [1], "more than one has streams for")
        for (page, count) in [(large, 500), (small, 1), (second, 1_000)] { finish(page.page, count) }
    }

    @Test func `a small page wakes the quickest of those that are connected`() async {
        #expect(queue.sleepIfIdle(0, unconnected))
        #expect(queue.sleepIfIdle(1, connected(room: 10, pace: 500)))
        #expect(queue.sleepIfIdle(2, connected(room: 10, pace: 5)))
        let page = await post(1)
        #expect(awakened == [2])
        finish(page.page, 1)
    }

    @Test func `more work than room wakes more and last those that have to connect`() async {
        for lane in 0..<3 { _ = queue.sleepIfIdle(lane, lane == 1 ? connected(room: 10) : unconnected) }
        let page = await post(10)
        #expect(awakened == [1])
        let more = await post(1)
        #expect(awakened == [0, 1], "the ten streams are spoken for")
        finish(page.page, 10)
        finish(more.page, 1)
    }

    @Test func `work that a lane has no room for is for another`() async {
        #expect(queue.sleepIfIdle(1, unconnected))
        #expect(!queue.wokeUp(0))
        _ = queue.take(1, 0, connected(room: 1_000))
        let page = await post(100)
        #expect(awakened == [], "lane 0 is awake and has room")
        #expect(!queue.sleepIfIdle(0, connected(room: 1_000)), "it does not sleep over that")
        // The server has reduced the limit to one stream.
        #expect(queue.sleepIfIdle(0, connected(room: 0)))
        #expect(awakened == [1])
        finish(page.page, 100)
    }

    @Test func `news that comes before the sleep is not slept over`() {
        queue.call(0)
        #expect(!queue.sleepIfIdle(0, unconnected))
        #expect(!queue.wokeUp(0))
        #expect(queue.sleepIfIdle(0, unconnected))
        queue.call(0)
        #expect(awakened == [0])
    }

    @Test func `a lane that cannot connect leaves its work to those that can`() async throws {
        _ = queue.take(1, 1, connected(room: 0))
        let page = await post(20)
        let part = try #require(queue.take(5, 0, unconnected))
        #expect(queue.connectionFailed(0, returning: [part]).isEmpty)
        let other = try #require(queue.take(32, 1, connected(room: 32)))
        #expect(other.range == 0..<5, "at once")
        finish(page.page, 20)
    }

    @Test func `where no lane is connected all that waits is given up`() async throws {
        let page = await post(20)
        let part = try #require(queue.take(1, 0, unconnected))
        let given = queue.connectionFailed(0, returning: [part])
        #expect(given.map(\.range) == [0..<1, 1..<20])
        for part in given { part.settleUnsent(.tls) }
        let outcome = await page.outcome.value
        #expect(outcome.exceptions.map(\.index) == Array(0..<20))
    }

    @Test func `closing answers what nobody has taken`() async throws {
        let page = await post(20)
        let part = try #require(queue.take(8, 0, connected(room: 8)))
        queue.beginClosing()
        part.shared.answers.add(PageOutcome(accepted: 8))
        let cancelled = PushOutcome.unanswered(NoAnswer(.cancelled, mayHaveBeenDelivered: false))
        let outcome = await page.outcome.value
        #expect(outcome.accepted == 8 && outcome.exceptions.map(\.index) == Array(8..<20))
        #expect(outcome.exceptions.allSatisfy { $0.outcome == cancelled })
        #expect(await post(3).outcome.value.exceptions.count == 3, "nothing more is taken")
        #expect(queue.wokeUp(0))
        for lane in 0..<3 { queue.end(lane) }
        await queue.waitForEnd()
    }
}
