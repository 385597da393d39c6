import LiveActivity

/// Sends live parts of pages to open tabs as server-sent events. All tabs that watch the same thing share one look
/// at Redis a second. Without a tab nothing runs.
actor LiveFeed {
    /// A part of a page that tabs watch, and all that decides about its text. Tabs of one topic share each look.
    struct Topic: Hashable {
        /// The rights with which the part is read. Others may see more of it, or less.
        var identity: ConsoleIdentity
        /// The beginning of the addresses in the part.
        var base = "/console"
        var part: String
    }

    /// The result of a look.
    enum Look: Sendable {
        case html(String)
        /// The part does not change any more.
        case last(String)
        /// The part cannot be read now. The next look may succeed.
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
    /// A comment after this many seconds without an event shows that the other side is still there.
    static let secondsBetweenBeats = 15
    static let beat = Array(": \n\n".utf8)
    /// A tab's session is looked at again after this many seconds.
    private static let secondsBetweenChecks = 10
    /// The most looks of an app at once. A slow one takes one place, and no other app waits for it.
    private static let looksAtOnce = 8
    /// A tab is told after this many looks in a row that fail. One alone may be a connection that was replaced.
    private static let failuresToTell = 2
    /// A look that takes so long counts as failed.
    private static let secondsToTell = 2

    private struct Tab {
        var owner: Owner
        var writer: AsyncStream<[UInt8]>.Continuation
        var isStanding: @Sendable () async -> Bool
        var secondsSinceCheck = 0
        /// The latest time at which the tab's page was made, epoch ms. An earlier look may be older than the page.
        var opened: Int64
        /// Whether the reader has got a look from after that time.
        var isUpToDate = false
    }

    private struct Watch {
        var look: @Sendable () async -> Look
        /// Seconds from a look to the next, and until then.
        var pause: Int
        var left = 0
        /// A look is under way, or waits for a place.
        var isLooking = false
        /// The time of the look that is under way, epoch ms, and the seconds that it lasts. Nil: none has begun.
        var began: Int64?
        var secondsOfLook = 0
        var tabs: [Int: Tab] = [:]
        var shown: String?
        /// `shown` as it goes to every tab.
        var event: [UInt8]?
        var secondsSinceEvent = 0
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
    private let second: Duration
    private var watches: [Topic: Watch] = [:]
    /// Topics whose look waits for a place, and how many looks are under way, by app.
    private var waiting: [AppKey: [Topic]] = [:]
    private var looking: [AppKey: Int] = [:]
    private var nextTab = 0
    private var loop: Task<Void, Never>?

    /// - Parameters:
    ///   - second: the unit of all pauses. Tests have a shorter one.
    ///   - clock: epoch ms
    init(second: Duration = .seconds(1), clock: @escaping @Sendable () -> Int64 = wallClock) {
        (self.second, self.clock) = (second, clock)
    }

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
            for topic in Array(watches.keys) { secondHasPassed(topic) }
            do { try await Task.sleep(for: second) } catch { return }
        }
    }

    private func secondHasPassed(_ topic: Topic) {
        guard var watch = watches[topic] else { return }
        for number in watch.tabs.keys { watch.tabs[number]?.secondsSinceCheck += 1 }
        watch.secondsSinceEvent += 1
        if watch.secondsSinceEvent >= Self.secondsBetweenBeats {
            watch.secondsSinceEvent = 0
            for tab in watch.tabs.values { beat(tab) }
        }
        watch.left -= 1
        if let began = watch.began {
            watch.secondsOfLook += 1
            if watch.secondsOfLook == Self.secondsToTell, watch.failures < Self.failuresToTell {
                // A frozen Redis answers neither yes nor no. The tabs learn of it before the look gives up.
                if watch.failures == 0 { watch.failedSince = began }
                watch.failures = Self.failuresToTell
                for tab in watch.tabs.values { watch.warning.map { _ = tab.writer.yield($0) } }
            }
        }
        let isDue = watch.left <= 0 && !watch.isLooking
        if isDue { (watch.left, watch.isLooking) = (watch.pause, true) }
        watches[topic] = watch
        guard isDue else { return }
        waiting[topic.identity.app, default: []].append(topic)
        beginLooks(of: topic.identity.app)
    }

    private func beginLooks(of app: AppKey) {
        while looking[app, default: 0] < Self.looksAtOnce, let topic = waiting[app]?.first {
            waiting[app]?.removeFirst()
            looking[app, default: 0] += 1
            Task { await look(at: topic) }
        }
        if waiting[app]?.isEmpty == true { waiting[app] = nil }
        if looking[app] == 0 { looking[app] = nil }
    }

    private func look(at topic: Topic) async {
        await drop(signedOutOf: topic)
        if let watch = watches[topic] {
            let began = clock()
            watches[topic]?.began = began
            watches[topic]?.secondsOfLook = 0
            show(await watch.look(), of: topic, began: began)
            watches[topic]?.began = nil
            watches[topic]?.isLooking = false
        }
        looking[topic.identity.app, default: 1] -= 1
        beginLooks(of: topic.identity.app)
    }

    private func show(_ look: Look, of topic: Topic, began: Int64) {
        guard var watch = watches[topic] else { return }
        switch look {
        case .html(let html), .last(let html):
            // A tab that shows a warning gets the part again, which takes the warning away.
            let isChanged = html != watch.shown || watch.warning != nil
            let tabs = watch.tabs.filter { isChanged || !$0.value.isUpToDate }
            if !tabs.isEmpty {
                watch.shown = html
                watch.secondsSinceEvent = 0
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
        watches[topic] = watch
        if case .last = look { for tab in watch.tabs.values { end(tab) } }
    }

    private func drop(signedOutOf topic: Topic) async {
        for number in Array((watches[topic]?.tabs ?? [:]).keys) {
            guard let tab = watches[topic]?.tabs[number], tab.secondsSinceCheck >= Self.secondsBetweenChecks else {
                continue
            }
            watches[topic]?.tabs[number]?.secondsSinceCheck = 0
            if await !tab.isStanding() { end(tab) }
        }
    }

    /// A tab that reads slowly keeps the newest two events. A beat must not take the place of one of them.
    private func beat(_ tab: Tab) {
        if case .dropped(let event) = tab.writer.yield(Self.beat), event != Self.beat { tab.writer.yield(event) }
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
