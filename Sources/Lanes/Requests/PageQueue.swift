import Delivery
internal import LiveActivity
internal import Synchronization
internal import Threads

/// The page queue of a transport: the pages that wait, for all of its lanes. A lane takes as many entries as its
/// connection has free streams. So a slow connection delays no work that other lanes can send. Any thread posts pages.
/// A lane's thread takes parts of them, and sleeps when there is nothing for it. The lock is taken once for each part
/// of a page. An eventfd is written only for a lane that sleeps.
final class PageQueue: Sendable {
    /// The capacity that a lane reports when it takes a part or goes to sleep.
    struct Capacity {
        /// How many requests the lane could begin now: one if it has to connect first, none while it may not connect.
        var room = 0
        /// How many of these are kept for small pages, which would wait for an answer otherwise, at worst a round trip.
        var reserve = 0
        /// How many of these, of large pages, wait for request pacing. A lane that goes to sleep with some has a timer.
        var roomLater = 0
        /// At least one answer has come on its connection.
        var isConnected = false
        /// Milliseconds that its requests take, smoothed.
        var pace: Int64 = 0

        /// How many requests of large pages it could begin now.
        var roomForLarge: Int { max(0, room - max(reserve, roomLater)) }
    }

    private struct Lane {
        var capacity = Capacity()
        /// The lane sleeps, and looks at the queue only when it is woken.
        var isAsleep = false
        /// Another thread called the lane. It must look at its work before it goes to sleep.
        var isCalled = false
    }

    /// The most entries of a small page. Small pages go first, so that one device does not wait for a thousand others.
    static let small = 32
    /// A connection keeps one of so many streams for small pages.
    static let streamsForOneReserved = 32
    /// How many small pages in a row may go before a part of a larger page, so that they cannot block it.
    static let smallPagesInARow = 8

    private struct State {
        var queue: [PagePart] = []
        /// Entries of small pages in `queue`.
        var waitingSmall = 0
        /// Small pages that went before a larger one since a larger one had its turn.
        var smallSinceLarge = 0
        /// Entries in `queue`.
        var waiting = 0
        var lanes: [Lane]
        var isClosing = false
        /// Lanes that have not ended.
        var running: Int
        var closers: [CheckedContinuation<Void, Never>] = []
        /// Lanes whose bells ring when the lock is free again.
        var woken: [Int] = []
    }

    /// An eventfd that is written once until its lane has read it.
    private final class Bell: Sendable {
        let event: WakeEvent
        private let isRung = Atomic(false)

        init?() {
            guard let event = WakeEvent() else { return nil }
            self.event = event
        }

        func ring() { if !isRung.exchange(true, ordering: .acquiringAndReleasing) { event.signal() } }
        /// A bell that is about to be written stays rung, and wakes its lane once more. A lane that finds it rung sees
        /// afterwards what was posted before: hence an exchange and no store.
        func clear() {
            if isRung.load(ordering: .acquiring), event.clear() {
                _ = isRung.exchange(false, ordering: .acquiringAndReleasing)
            }
        }
    }

    private let state: Mutex<State>
    /// The lanes, those whose connection had answered when they last reported, and the entries that wait.
    var lanes: (total: Int, connected: Int, waiting: Int) {
        state.withLock { state in
            (state.lanes.count, state.lanes.count { $0.capacity.isConnected }, state.waiting)
        }
    }
    /// By lane.
    private let bells: [Bell]
    var laneCount: Int { bells.count }

    /// Nil when the process is out of descriptors.
    init?(lanes: Int) {
        let bells = (0..<lanes).compactMap { _ in Bell() }
        guard bells.count == lanes else { return nil }
        self.bells = bells
        state = Mutex(State(lanes: Array(repeating: Lane(), count: lanes), running: lanes))
    }

    // MARK: Senders

    /// Adds a page to the queue. False when the transport is closing: the caller settles the page then.
    func post(_ page: SharedPage) -> Bool {
        withLock { state in
            guard !state.isClosing else { return false }
            let part = PagePart(shared: page, range: page.page.entries.indices)
            state.queue.append(part)
            count(part, +1, &state)
            wakeForWork(&state)
            return true
        }
    }

    /// Accepts no more pages. Each lane ends after its requests in flight. Parts that no lane has taken are cancelled.
    func beginClosing() {
        let parts = withLock { state in
            state.isClosing = true
            for lane in state.lanes.indices { call(lane, &state) }
            return withdraw(&state) { _ in true }
        }
        for part in parts { part.settleUnsent(.cancelled) }
    }

    /// Returns when all lanes have ended.
    func waitForEnd() async {
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { state in
                if state.running > 0 { state.closers.append(continuation) }
                return state.running == 0
            }
            if hasEnded { continuation.resume() }
        }
    }

    // MARK: Lanes

    /// Readable when the lane should look at the queue.
    func descriptor(_ lane: Int) -> Int32 { bells[lane].event.descriptor }

    /// Makes a lane look at its work, because something that it waits for elsewhere has happened.
    func call(_ lane: Int) { withLock { call(lane, &$0) } }

    /// Notes that a lane is awake after a sleep. True when the transport is closing.
    func wokeUp(_ lane: Int) -> Bool {
        bells[lane].clear()
        return state.withLock { state in
            state.lanes[lane].isAsleep = false
            state.lanes[lane].isCalled = false
            return state.isClosing
        }
    }

    /// True if no part waits. Another thread may change that before the caller looks.
    var isEmpty: Bool { state.withLock { $0.queue.isEmpty } }

    /// Takes the next entries, at most `count`, all of one page; nil if the lane has no room for any. Small pages go
    /// first. Larger ones take turns, part by part.
    func take(_ count: Int, _ lane: Int, _ capacity: Capacity) -> PagePart? {
        state.withLock { state in
            state.lanes[lane].capacity = capacity
            guard count > 0, let index = next(&state, capacity) else { return nil }
            var part = state.queue.remove(at: index)
            let count = part.isSmall ? count : min(count, capacity.roomForLarge)
            if part.range.count > count {
                let rest = PagePart(shared: part.shared, range: part.range.lowerBound + count..<part.range.upperBound)
                state.queue.append(rest)
                part.range = part.range.lowerBound..<rest.range.lowerBound
            }
            self.count(part, -1, &state)
            state.lanes[lane].capacity.room -= part.range.count
            return part
        }
    }

    /// Lets a lane sleep until its event, a socket or a timer. False if it was called meanwhile, or has room for work
    /// that waits. Other work may be another lane's.
    func sleepIfIdle(_ lane: Int, _ capacity: Capacity) -> Bool {
        withLock { state in
            var work = Work(state)
            for other in state.lanes.indices where other != lane && state.lanes[other].capacity.roomLater > 0 {
                work.reserve(for: state.lanes[other].capacity)
            }
            guard !state.lanes[lane].isCalled, !work.isFor(capacity) else { return false }
            state.lanes[lane].capacity = capacity
            state.lanes[lane].isAsleep = true
            wakeForWork(&state)
            return true
        }
    }

    /// Removes the waiting parts of a page from the queue.
    func withdraw(_ page: PageAnswers) -> [PagePart] {
        state.withLock { state in withdraw(&state) { $0.shared.answers === page } }
    }

    func withdrawAll() -> [PagePart] { state.withLock { state in withdraw(&state) { _ in true } } }

    /// Notes that a lane could not connect, and takes back its parts, which wait for a lane that is connected.
    /// - Returns: the parts to give up if no lane is: these and all that wait
    func connectionFailed(_ lane: Int, returning parts: [PagePart]) -> [PagePart] {
        withLock { state in
            state.lanes[lane].capacity = Capacity()
            guard !state.isClosing, state.lanes.contains(where: \.capacity.isConnected) else {
                return parts + withdraw(&state) { _ in true }
            }
            state.queue.insert(contentsOf: parts, at: 0)
            for part in parts { count(part, +1, &state) }
            wakeForWork(&state)
            return []
        }
    }

    /// Notes that a lane has ended. It is the lane's last call.
    func end(_ lane: Int) {
        let closers: [CheckedContinuation<Void, Never>] = state.withLock { state in
            state.lanes[lane].capacity = Capacity()
            state.running -= 1
            return state.running == 0 ? state.closers : []
        }
        closers.forEach { $0.resume() }
    }

    // MARK: Under the lock

    /// The index of the part whose turn it is, among the parts that a lane of this capacity may take.
    private func next(_ state: inout State, _ capacity: Capacity) -> Int? {
        guard let first = state.queue.first else { return nil }
        // A retry may be of a token that is never answered. It must not be what a new connection begins with.
        if !capacity.isConnected, first.shared.isRetry,
            let other = state.queue.firstIndex(where: { !$0.shared.isRetry })
        {
            return other
        }
        if first.isSmall { return 0 }
        let mayBeLarge = capacity.roomForLarge > 0
        if state.waitingSmall > 0, state.smallSinceLarge < Self.smallPagesInARow || !mayBeLarge {
            state.smallSinceLarge += 1
            return state.queue.firstIndex(where: \.isSmall)
        }
        state.smallSinceLarge = 0
        return mayBeLarge ? 0 : nil
    }

    private func withdraw(_ state: inout State, _ isMeant: (PagePart) -> Bool) -> [PagePart] {
        let parts = state.queue.filter(isMeant)
        state.queue.removeAll(where: isMeant)
        for part in parts { count(part, -1, &state) }
        return parts
    }

    private func count(_ part: PagePart, _ sign: Int, _ state: inout State) {
        state.waiting += sign * part.range.count
        if part.isSmall { state.waitingSmall += sign * part.range.count }
    }

    /// Entries for which no lane has been found yet.
    private struct Work {
        var small: Int
        var large: Int

        init(_ state: State) { (small, large) = (state.waitingSmall, state.waiting - state.waitingSmall) }

        /// Subtracts the entries that a lane of this capacity has room for. False if there are none.
        mutating func give(to capacity: Capacity) -> Bool {
            let ofLarge = min(large, capacity.roomForLarge)
            let ofSmall = min(small, max(0, capacity.room - ofLarge))
            large -= ofLarge
            small -= ofSmall
            return ofLarge + ofSmall > 0
        }

        /// Subtracts the entries that a lane of this capacity will take later by itself.
        mutating func reserve(for capacity: Capacity) {
            large -= min(large, max(0, capacity.room - capacity.reserve) - capacity.roomForLarge)
        }

        func isFor(_ capacity: Capacity) -> Bool {
            var copy = self
            return copy.give(to: capacity)
        }
    }

    /// Wakes as many sleeping lanes as there is work for: first lanes with free streams, by pace, then lanes that have
    /// to connect. So connections are made as work needs them, and more of them while windows are small.
    private func wakeForWork(_ state: inout State) {
        var left = Work(state)
        for lane in state.lanes where lane.capacity.isConnected {
            if !lane.isAsleep { _ = left.give(to: lane.capacity) }
            left.reserve(for: lane.capacity)
        }
        while true {
            let sleepers = state.lanes.indices.filter {
                state.lanes[$0].isAsleep && left.isFor(state.lanes[$0].capacity)
            }
            guard let next = sleepers.min(by: { precedes(state.lanes[$0].capacity, state.lanes[$1].capacity) }) else {
                return
            }
            _ = left.give(to: state.lanes[next].capacity)
            wake(next, &state)
        }
    }

    private func precedes(_ one: Capacity, _ other: Capacity) -> Bool {
        one.isConnected != other.isConnected ? one.isConnected : one.pace < other.pace
    }

    private func call(_ lane: Int, _ state: inout State) {
        state.lanes[lane].isCalled = true
        if state.lanes[lane].isAsleep { wake(lane, &state) }
    }

    private func wake(_ lane: Int, _ state: inout State) {
        state.lanes[lane].isAsleep = false
        state.woken.append(lane)
    }

    /// Rings behind the lock: a lane that wakes takes it at once.
    private func withLock<Result>(_ body: (inout State) -> Result) -> Result {
        let (result, woken) = state.withLock { state in
            let result = body(&state)
            defer { state.woken = [] }
            return (result, state.woken)
        }
        for lane in woken { bells[lane].ring() }
        return result
    }
}

/// A lane's access to the page queue. The queue lives as long as the lane.
struct LaneHandle: Sendable {
    let queue: PageQueue
    let number: Int

    /// How many lanes the transport has.
    var lanes: Int { queue.laneCount }
    var descriptor: Int32 { queue.descriptor(number) }
    func call() { queue.call(number) }
    func wokeUp() -> Bool { queue.wokeUp(number) }
    func take(_ count: Int, _ capacity: PageQueue.Capacity) -> PagePart? { queue.take(count, number, capacity) }
    func sleepIfIdle(_ capacity: PageQueue.Capacity) -> Bool { queue.sleepIfIdle(number, capacity) }
    func connectionFailed(returning parts: [PagePart]) -> [PagePart] {
        queue.connectionFailed(number, returning: parts)
    }
    func end() { queue.end(number) }
}

/// A page in a transport. Lanes take parts of it and send them in any order, each from its own thread.
final class SharedPage: Sendable {
    let page: TokenPage
    let push: PreparedPush
    /// Asked before each request.
    let permission: any SendPermission
    let answers: PageAnswers

    init(_ page: TokenPage, _ push: PreparedPush, _ permission: any SendPermission, _ answers: PageAnswers) {
        self.page = page
        self.push = push
        self.permission = permission
        self.answers = answers
    }

    /// Its tokens had no answer before, or one that says to try again.
    var isRetry: Bool { (page.entries.first?.attempt ?? 0) > 0 }
}

/// Entries of a page that one lane takes together.
struct PagePart: Sendable {
    let shared: SharedPage
    var range: Range<Int>

    var isSmall: Bool { shared.page.count <= PageQueue.small }

    /// Settles all entries with the same outcome, other than `.accepted`.
    func settle(_ outcome: PushOutcome) {
        shared.answers.add(PageOutcome(exceptions: range.map { .init(index: $0, outcome: outcome) }))
    }

    func settleUnsent(_ cause: NoAnswer.Cause) { settle(.unanswered(.init(cause, mayHaveBeenDelivered: false))) }
}
