import Synchronization
import Testing

@testable import Console

@Suite struct LiveFeedTests {
    private func text(_ bytes: [UInt8]?) -> String { String(decoding: bytes ?? [], as: UTF8.self) }

    @Test func `tabs of one topic share each look, and without tabs nothing looks`() async throws {
        let feed = LiveFeed()
        let looks = Mutex(0)
        var tabs: [LiveFeed.Events] = []
        for _ in 0..<50 {
            let events = await feed.open("home", isStanding: { true }) {
                .html("look \(looks.withLock { $0 += 1; return $0 })")
            }
            tabs.append(try #require(events))
        }
        var iterators = tabs.map { $0.stream.makeAsyncIterator() }
        for index in iterators.indices { _ = await iterators[index].next() }
        let count = looks.withLock { $0 }
        #expect(count <= 5, "50 tabs, and a few looks for all of them")
        let open = await feed.openTabs
        #expect(open == 50)
        tabs.forEach { $0.end() }
        while await feed.openTabs > 0 { await Task.yield() }
    }

    @Test func `a part that is final ends its tabs with a word, so that they do not come back`() async throws {
        let feed = LiveFeed()
        let events = try #require(await feed.open("push", isStanding: { true }) { .last("<p>\n done</p>") })
        var parts: [String] = []
        for await part in events.stream { parts.append(text(part)) }
        #expect(parts == ["data: <p>\ndata:  done</p>\n\n", "event: end\ndata: \n\n"])
    }

    @Test func `a tab whose session is over ends, and the others go on`() async throws {
        let feed = LiveFeed()
        let looks = Mutex(0)
        let look: @Sendable () async -> LiveFeed.Look = { .html("\(looks.withLock { $0 += 1; return $0 })") }
        let over = try #require(await feed.open("home", isStanding: { false }, look: look))
        let standing = try #require(await feed.open("home", isStanding: { true }, look: look))
        var last = ""
        for await part in over.stream { last = text(part) }
        #expect(last.hasPrefix("event: end"))
        while await feed.openTabs > 1 { await Task.yield() }
        standing.end()
    }

    @Test func `a part with a longer pause is looked at less often`() async throws {
        let feed = LiveFeed()
        let looks = Mutex((often: 0, seldom: 0))
        let often = try #require(
            await feed.open("push", isStanding: { true }) {
                .html("\(looks.withLock { $0.often += 1; return $0.often })")
            })
        let seldom = try #require(
            await feed.open("home", every: 2, isStanding: { true }) {
                .html("\(looks.withLock { $0.seldom += 1; return $0.seldom })")
            })
        for await part in seldom.stream where text(part) == "data: 3\n\n" { break }
        let counts = looks.withLock(\.self)
        #expect(counts.often > counts.seldom, "\(counts)")
        for tab in [often, seldom] { tab.end() }
    }

    @Test func `too many tabs are refused`() async throws {
        let feed = LiveFeed()
        var tabs: [LiveFeed.Events] = []
        for _ in 0..<LiveFeed.mostTabs {
            tabs.append(try #require(await feed.open("home", isStanding: { true }) { .unknown }))
        }
        let more = await feed.open("home", isStanding: { true }) { .unknown }
        #expect(more == nil)
        tabs.forEach { $0.end() }
    }
}
