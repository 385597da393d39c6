import LiveActivity

/// Sends live parts of pages to open tabs as server-sent events. All tabs that watch the same thing share one look
/// at Redis a second. Without a tab nothing runs.
actor LiveFeed {
    /// A part of a page that tabs watch. Tabs of one credential on the same part share a topic.
    typealias Topic = String

    /// The result of a look.
    enum Look: Sendable {
        case html(String)
        /// The part does not change any more.
        case last(String)
        /// It cannot be read now. The next look may succeed.
        case unknown
    }

    /// The app and the session that a tab is of.
    struct Owner: Sendable, Hashable {
        var app: String
        var session: String
    }

    /// The events of one tab.
    struct Events: Sendable {
        var stream: AsyncStream<[UInt8]>
        var end: @Sendable () -> Void
    }

    /// The most tabs of one gateway that are kept up to date, and of them one app's and one session's.
    static let mostTabs = 500
    static let mostTabsOfApp = 250
    static let mostTabsOfSession = 20
    static let interval: Duration = .seconds(1)
    /// A comment after this many looks without a change shows that the other side is still there.
    private static let looksBetweenBeats = 15
    /// A tab's session is looked at again after this many looks.
    private static let looksBetweenChecks = 10
    /// A tab is told after this many looks in a row that fail. One alone may be a connection that was replaced.
    private static let failuresToTell = 2

    private struct Tab {
        var owner: Owner
        var writer: AsyncStream<[UInt8]>.Continuation
        var isStanding: @Sendable () async -> Bool
        var looks = 0
        /// When its page was made at the latest, epoch ms. A look from before may not know what the page knows.
        var opened: Int64
        /// Whether it has got a look from after that.
        var isUpToDate = false
    }

    private struct Watch {
        var look: @Sendable () async -> Look
        /// Seconds from a look to the next, and until then.
        var pause: Int
        var left = 0
        var tabs: [Int: Tab] = [:]
        var shown: String?
        /// `shown` as it goes to every tab.
        var event: [UInt8]?
        var looksSinceEvent = 0
        /// How many looks failed since the last one that did not, and when the first of them began, epoch ms.
        var failures = 0
        var failedSince: Int64 = 0

        /// Tells the tabs that they show an old part. Nil: they do not.
        var warning: [UInt8]? {
            guard failures >= LiveFeed.failuresToTell else { return nil }
            return Array("event: unknown\ndata: \(TimeText.text(failedSince))\n\n".utf8)
        }
    }

    private let clock: @Sendable () -> Int64
    private var watches: [Topic: Watch] = [:]
    private var nextTab = 0
    private var loop: Task<Void, Never>?

    /// - Parameter clock: epoch ms
    init(clock: @escaping @Sendable () -> Int64 = wallClock) { self.clock = clock }

    /// - Parameters:
    ///   - pause: seconds between two looks
    ///   - look: reads the part. The topic's first tab gives it.
    ///   - isStanding: whether this tab's session still is.
    /// - Returns: nil if too many tabs are open: of all, of the app or of the session.
    func open(
        _ topic: Topic, of owner: Owner, every pause: Int = 1, isStanding: @escaping @Sendable () async -> Bool,
        look: @escaping @Sendable () async -> Look
    ) -> Events? {
        guard openTabs < Self.mostTabs, count({ $0.app == owner.app }) < Self.mostTabsOfApp,
            count({ $0.session == owner.session }) < Self.mostTabsOfSession
        else { return nil }
        let (stream, writer) = AsyncStream.makeStream(of: [UInt8].self, bufferingPolicy: .bufferingNewest(2))
        let number = nextTab
        nextTab += 1
        let tab = Tab(owner: owner, writer: writer, isStanding: isStanding, opened: clock())
        watches[topic, default: Watch(look: look, pause: pause)].tabs[number] = tab
        if let event = watches[topic]?.event { writer.yield(event) }
        if let warning = watches[topic]?.warning { writer.yield(warning) }
        writer.onTermination = { [weak self] _ in Task { await self?.close(topic, number) } }
        if loop == nil { loop = Task { await run() } }
        return Events(stream: stream, end: { writer.finish() })
    }

    var openTabs: Int { count { _ in true } }

    private func count(_ isCounted: (Owner) -> Bool) -> Int {
        watches.values.reduce(0) { $0 + $1.tabs.values.count { isCounted($0.owner) } }
    }

    private func close(_ topic: Topic, _ number: Int) {
        guard watches[topic]?.tabs.removeValue(forKey: number) != nil else { return }
        if watches[topic]?.tabs.isEmpty == true { watches[topic] = nil }
        if watches.isEmpty {
            loop?.cancel()
            loop = nil
        }
    }

    private func run() async {
        while !Task.isCancelled {
            for topic in Array(watches.keys) {
                await drop(signedOutOf: topic)
                guard let watch = watches[topic], isDue(topic) else { continue }
                let began = clock()
                let look = await watch.look()
                show(look, of: topic, began: began)
            }
            do { try await Task.sleep(for: Self.interval) } catch { return }
        }
    }

    private func isDue(_ topic: Topic) -> Bool {
        guard var watch = watches[topic] else { return false }
        let isDue = watch.left <= 0
        watch.left = isDue ? watch.pause - 1 : watch.left - 1
        watches[topic] = watch
        return isDue
    }

    private func show(_ look: Look, of topic: Topic, began: Int64) {
        guard var watch = watches[topic] else { return }
        watch.looksSinceEvent += 1
        switch look {
        case .html(let html), .last(let html):
            // A tab that was told of failures gets the part again, which takes the warning away.
            let isChanged = html != watch.shown || watch.warning != nil
            let tabs = watch.tabs.filter { isChanged || !$0.value.isUpToDate }
            if !tabs.isEmpty {
                watch.shown = html
                watch.looksSinceEvent = 0
                let event = Self.event(html, at: began)
                watch.event = event
                for (number, tab) in tabs {
                    tab.writer.yield(event)
                    watch.tabs[number]?.isUpToDate = began >= tab.opened
                }
            }
            watch.failures = 0
        case .unknown:
            if watch.failures == 0 { watch.failedSince = began }
            watch.failures += 1
            if watch.failures == Self.failuresToTell, let warning = watch.warning {
                for tab in watch.tabs.values { tab.writer.yield(warning) }
            }
        }
        if watch.looksSinceEvent >= Self.looksBetweenBeats {
            watch.looksSinceEvent = 0
            for tab in watch.tabs.values { tab.writer.yield(Array(": \n\n".utf8)) }
        }
        watches[topic] = watch
        if case .last = look { for tab in watch.tabs.values { end(tab) } }
    }

    private func drop(signedOutOf topic: Topic) async {
        for number in Array((watches[topic]?.tabs ?? [:]).keys) {
            watches[topic]?.tabs[number]?.looks += 1
            guard let tab = watches[topic]?.tabs[number], tab.looks % Self.looksBetweenChecks == 0 else { continue }
            if await !tab.isStanding() { end(tab) }
        }
    }

    /// Without this word the browser would connect again.
    private func end(_ tab: Tab) {
        tab.writer.yield(Array("event: end\ndata: \n\n".utf8))
        tab.writer.finish()
    }

    /// - Parameter time: when the look began, epoch ms. The script drops a look that is older than its page.
    static func event(_ html: String, at time: Int64) -> [UInt8] {
        let newline = UInt8(ascii: "\n")
        var event: [UInt8] = []
        event.reserveCapacity(html.utf8.count + html.utf8.count / 8 + 24)
        event += "id: \(time)\n".utf8
        for line in html.utf8.split(whereSeparator: { $0 == newline || $0 == UInt8(ascii: "\r") }) {
            event += "data: ".utf8
            event += line
            event.append(newline)
        }
        event.append(newline)
        return event
    }
}
