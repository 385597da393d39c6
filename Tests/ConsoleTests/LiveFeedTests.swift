import LiveActivity
import Synchronization
import Testing

@testable import Console

@Suite struct LiveFeedTests {
    private static func owner(_ app: String = "shop", _ session: String? = nil) -> LiveFeed.Owner {
        LiveFeed.Owner(app: app, session: session ?? "\(UInt64.random(in: 0 ... .max))")
    }

    private static func topic(_ part: String, _ app: String = "shop") throws -> LiveFeed.Topic {
        LiveFeed.Topic(identity: ConsoleIdentity(app: try AppKey(app), proof: "00"), part: part)
    }

    /// An event without the time of its look.
    private func text(_ bytes: [UInt8]?) -> String {
        String(decoding: bytes ?? [], as: UTF8.self).replacing(/^id: \d+\n/, with: "")
    }

    /// The first part among the next few: on a busy machine beats come first, and the words that a look takes long.
    /// - Parameter warns: such words count as a part
    private func part(of tab: LiveFeed.Events, warns: Bool = false) async -> String {
        var parts = tab.stream.makeAsyncIterator()
        for _ in 0..<5 {
            let part = text(await parts.next())
            if part != text(LiveFeed.beat), warns || !part.hasPrefix("event: unknown") { return part }
        }
        return "no part"
    }

    @Test func `tabs of one topic share each look, and without tabs nothing looks`() async throws {
        let feed = LiveFeed()
        let looks = Mutex(0)
        var tabs: [LiveFeed.Events] = []
        for _ in 0..<50 {
            let events = try await feed.open(Self.topic("home"), of: Self.owner(), isStanding: { true }) {
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
        let events = try #require(
            await feed.open(Self.topic("push"), of: Self.owner(), isStanding: { true }) { .last("<p>\n done</p>") })
        var parts: [String] = []
        for await part in events.stream { parts.append(text(part)) }
        #expect(parts == ["data: <p>\ndata:  done</p>\n\n", "event: end\ndata: \n\n"])
    }

    @Test func `a look that does not end tells the tabs after two seconds that they show an old part`() async throws {
        let feed = LiveFeed(second: .milliseconds(20))
        let isFrozen = Mutex(false)
        let (thaw, thawed) = AsyncStream.makeStream(of: Void.self)
        let events = try #require(
            await feed.open(Self.topic("home"), of: Self.owner(), isStanding: { true }) {
                if isFrozen.withLock(\.self) { for await _ in thaw { break } }
                isFrozen.withLock { $0 = true }
                return .html("Redis ok")
            })
        #expect(await part(of: events).contains("Redis ok"))
        // Redis is frozen: it answers neither yes nor no.
        #expect(await part(of: events, warns: true).hasPrefix("event: unknown"))
        thawed.yield()
        #expect(await part(of: events).contains("Redis ok"), "the part comes again, which takes the warning away")
        thawed.finish()
        events.end()
    }

    @Test func `a tab whose session is over ends, and the others go on`() async throws {
        let feed = LiveFeed()
        let looks = Mutex(0)
        let look: @Sendable () async -> LiveFeed.Look = { .html("\(looks.withLock { $0 += 1; return $0 })") }
        let over = try #require(
            await feed.open(Self.topic("home"), of: Self.owner(), isStanding: { false }, look: look))
        let standing = try #require(
            await feed.open(Self.topic("home"), of: Self.owner(), isStanding: { true }, look: look))
        var last = ""
        for await part in over.stream { last = text(part) }
        #expect(last.hasPrefix("event: end"))
        while await feed.openTabs > 1 { await Task.yield() }
        standing.end()
    }

    @Test func `tabs are told that looks fail, and get the part again when one succeeds`() async throws {
        let feed = LiveFeed(clock: { 1_795_000_000_000 })
        let fails = Mutex(false)
        let open: () async throws -> LiveFeed.Events = {
            try #require(
                await feed.open(Self.topic("home"), of: Self.owner(), isStanding: { true }) {
                    fails.withLock(\.self) ? .unknown : .html("<p>")
                })
        }
        let tab = try await open()
        var parts = tab.stream.makeAsyncIterator()
        #expect(text(await parts.next()) == "data: <p>\n\n")
        fails.withLock { $0 = true }
        let warning = "event: unknown\ndata: \(TimeText.text(1_795_000_000_000))\n\n"
        #expect(text(await parts.next()) == warning)
        // A tab that is opened meanwhile gets the old part, and is told too.
        let late = try await open()
        var lateParts = late.stream.makeAsyncIterator()
        #expect(text(await lateParts.next()) == "data: <p>\n\n")
        #expect(text(await lateParts.next()) == warning)
        fails.withLock { $0 = false }
        #expect(text(await parts.next()) == "data: <p>\n\n")
        for tab in [tab, late] { tab.end() }
    }

    @Test func `an event tells when its look began, and a page that is newer gets another one`() async throws {
        let now = Mutex(Int64(1_000))
        let feed = LiveFeed(clock: { now.withLock(\.self) })
        let open: () async throws -> LiveFeed.Events = {
            try #require(await feed.open(Self.topic("home"), of: Self.owner(), isStanding: { true }) { .html("<p>") })
        }
        let tab = try await open()
        var parts = tab.stream.makeAsyncIterator()
        #expect(await parts.next() == Array("id: 1000\ndata: <p>\n\n".utf8))
        now.withLock { $0 = 2_000 }
        // This page was made after that look, so its script drops it.
        let late = try await open()
        var lateParts = late.stream.makeAsyncIterator()
        #expect(await lateParts.next() == Array("id: 1000\ndata: <p>\n\n".utf8))
        #expect(await lateParts.next() == Array("id: 2000\ndata: <p>\n\n".utf8))
        for tab in [tab, late] { tab.end() }
    }

    @Test func `a look that takes long delays no other part, of its app or of another one`() async throws {
        let feed = LiveFeed()
        let (gate, opener) = AsyncStream.makeStream(of: Void.self)
        let begun = AsyncStream.makeStream(of: Void.self)
        let slow = try #require(
            await feed.open(Self.topic("slow"), of: Self.owner(), isStanding: { true }) {
                begun.continuation.yield()
                for await _ in gate {}
                return .html("slow")
            })
        for await _ in begun.stream { break }
        var tabs = [slow]
        for topic in [try Self.topic("home"), try Self.topic("home", "bank")] {
            let tab = try #require(await feed.open(topic, of: Self.owner(), isStanding: { true }) { .html("<p>") })
            var parts = tab.stream.makeAsyncIterator()
            #expect(text(await parts.next()) == "data: <p>\n\n")
            tabs.append(tab)
        }
        opener.finish()
        #expect(await part(of: slow) == "data: slow\n\n")
        for tab in tabs { tab.end() }
    }

    @Test func `more looks than there are places wait their turn, and all of them come`() async throws {
        let feed = LiveFeed(second: .milliseconds(10))
        let running = Mutex(0)
        let most = Mutex(0)
        var tabs: [LiveFeed.Events] = []
        for number in 0..<40 {
            let tab = try await feed.open(Self.topic("push \(number)"), of: Self.owner(), isStanding: { true }) {
                let now = running.withLock {
                    $0 += 1; return $0
                }
                most.withLock { $0 = max($0, now) }
                for _ in 0..<20 { await Task.yield() }
                running.withLock { $0 -= 1 }
                return .html("\(number)")
            }
            tabs.append(try #require(tab))
        }
        for (number, tab) in tabs.enumerated() {
            #expect(await part(of: tab) == "data: \(number)\n\n")
        }
        #expect(most.withLock(\.self) <= 8)
        for tab in tabs { tab.end() }
    }

    @Test func `a quiet part has a beat after seconds, and not after looks`() async throws {
        let feed = LiveFeed(second: .milliseconds(5))
        let looks = Mutex(0)
        let pause = 5
        let tab = try #require(
            await feed.open(Self.topic("push"), of: Self.owner(), every: pause, isStanding: { true }) {
                looks.withLock { $0 += 1 }
                return .html("<p>")
            })
        for await part in tab.stream where part == LiveFeed.beat { break }
        #expect(looks.withLock(\.self) <= LiveFeed.secondsBetweenBeats / pause + 2)
        tab.end()
    }

    @Test func `beats do not push out the part that a slow tab has not read`() async throws {
        let feed = LiveFeed(second: .milliseconds(1))
        let looks = Mutex(0)
        let (looked, more) = AsyncStream.makeStream(of: Void.self)
        let tab = try #require(
            await feed.open(Self.topic("push"), of: Self.owner(), isStanding: { true }) {
                // Some beats after the only change.
                if looks.withLock({
                    $0 += 1; return $0
                }) == 5 * LiveFeed.secondsBetweenBeats {
                    more.finish()
                }
                return .html("<p>")
            })
        for await _ in looked {}
        #expect(await part(of: tab) == "data: <p>\n\n")
        tab.end()
    }

    @Test func `a part with a longer pause is looked at less often`() async throws {
        let feed = LiveFeed()
        let looks = Mutex((often: 0, seldom: 0))
        let often = try #require(
            await feed.open(Self.topic("push"), of: Self.owner(), isStanding: { true }) {
                .html("\(looks.withLock { $0.often += 1; return $0.often })")
            })
        let seldom = try #require(
            await feed.open(Self.topic("home"), of: Self.owner(), every: 2, isStanding: { true }) {
                .html("\(looks.withLock { $0.seldom += 1; return $0.seldom })")
            })
        for await part in seldom.stream where text(part) == "data: 3\n\n" { break }
        let counts = looks.withLock(\.self)
        #expect(counts.often > counts.seldom, "\(counts)")
        for tab in [often, seldom] { tab.end() }
    }

    @Test func `too many tabs are refused, of all, of one app and of one session`() async throws {
        let feed = LiveFeed()
        var tabs: [LiveFeed.Events] = []
        func open(_ app: String, _ session: String? = nil) async throws -> Bool {
            guard
                let tab = try await feed.open(
                    Self.topic("home"), of: Self.owner(app, session), isStanding: { true }, look: { .unknown })
            else { return false }
            tabs.append(tab)
            return true
        }
        for _ in 0..<LiveFeed.mostTabsOfSession { #expect(try await open("shop", "s")) }
        #expect(try await !open("shop", "s"), "one session")
        for _ in LiveFeed.mostTabsOfSession..<LiveFeed.mostTabsOfApp { #expect(try await open("shop")) }
        #expect(try await !open("shop"), "one app")
        for number in LiveFeed.mostTabsOfApp..<LiveFeed.mostTabs { #expect(try await open("bank \(number % 7)")) }
        #expect(try await !open("other"), "all")
        tabs[0].end()
        while await feed.openTabs == LiveFeed.mostTabs { await Task.yield() }
        #expect(try await open("shop", "s"), "a closed tab makes room in each of the three")
        tabs.forEach { $0.end() }
    }

    @Test func `a costly value is read again once it is old, or after it could not be read`() async throws {
        let value = RateLimitedRead<Int>(seconds: 30)
        func look(_ now: Int64, finds number: Int) async -> Int { await value.value(now: now) { number } }
        await #expect(throws: StoreIsAway.self) { try await value.value(now: 0) { throw StoreIsAway() } }
        #expect(await look(1_000, finds: 7) == 7)
        #expect(await look(30_999, finds: 8) == 7)
        #expect(await look(31_000, finds: 8) == 8)
        // The clock was set back.
        #expect(await look(2_000, finds: 9) == 9)
    }

    private struct StoreIsAway: Error {}
}
