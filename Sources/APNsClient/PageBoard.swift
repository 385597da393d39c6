internal import APNsWire
internal import Curl
internal import LiveActivity
internal import Synchronization

/// The pages that wait in a transport, for all of its lanes: a lane takes as much as its connection has streams free, so
/// that work goes where it can be sent, and a slow connection holds up none of it. Any thread posts; a lane's thread takes,
/// and sleeps when there is nothing for it. One lock, once a part of a page; an eventfd is written only for a lane that
/// sleeps.
final class PageBoard: Sendable {
    /// What a lane says of itself when it takes or goes to sleep.
    struct Standing {
        /// Requests it could begin now: one, if it has to connect first, none while it may not.
        var room = 0
        /// Of that, what large pages leave to small ones: else these would wait for an answer, a whole round trip at the worst.
        var reserve = 0
        /// Of that, what large pages take a little later (`Pacing`): a lane that goes to sleep with such places has a timer.
        var held = 0
        /// Its connection has brought an answer.
        var isConnected = false
        /// Milliseconds that its requests take, smoothed.
        var pace: Int64 = 0

        /// Requests of large pages that it could begin now.
        var roomForLarge: Int { max(0, room - max(reserve, held)) }
    }

    private struct Lane {
        var standing = Standing()
        /// It sleeps, and looks here only when it is woken.
        var isResting = false
        /// Its event has been signalled and not been cleared since.
        var isSignalled = false
        /// What it waits for elsewhere is there: it does not go to sleep before it has looked.
        var isCalled = false
    }

    /// A page of so few goes before larger ones: what one device waits for does not stand behind a thousand others.
    static let small = 32
    /// Of so many places of a connection one is kept for small pages.
    static let placesToReserve = 32
    /// So many in a row; then a part of a larger page has its turn, should small ones never end.
    static let overtakings = 8

    private struct State {
        var queue: [PagePart] = []
        /// Entries of small pages in `queue`.
        var waitingSmall = 0
        /// Small pages that went before a larger one since one of those had its turn.
        var overtaken = 0
        /// Entries in `queue`.
        var waiting = 0
        var lanes: [Lane]
        var isClosing = false
        /// Lanes that have not ended.
        var running: Int
        var closers: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>
    /// By lane.
    private let events: [WakeEvent]

    /// Nil when the process is out of descriptors.
    init?(lanes: Int) {
        var events: [WakeEvent] = []
        for _ in 0..<lanes {
            guard let event = WakeEvent() else { return nil }
            events.append(event)
        }
        self.events = events
        state = Mutex(State(lanes: Array(repeating: Lane(), count: lanes), running: lanes))
    }

    // MARK: Senders

    /// False when the transport is closing: the page is the caller's to answer.
    func post(_ page: SharedPage) -> Bool {
        state.withLock { state in
            guard !state.isClosing else { return false }
            let part = PagePart(shared: page, range: page.page.entries.indices)
            state.queue.append(part)
            count(part, +1, &state)
            wakeForWork(&state)
            return true
        }
    }

    /// No pages from here on. Lanes end when what they have in flight has ended; what none has taken is answered here.
    func beginClosing() {
        let parts = state.withLock { state in
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

    /// Readable when the lane should look here.
    func descriptor(_ lane: Int) -> Int32 { events[lane].descriptor }

    /// Makes a lane look around: what it waits for elsewhere is there.
    func call(_ lane: Int) { state.withLock { call(lane, &$0) } }

    /// After a sleep; true when the transport is closing.
    func awake(_ lane: Int) -> Bool {
        state.withLock { state in
            if state.lanes[lane].isSignalled { events[lane].clear() }
            state.lanes[lane].isResting = false
            state.lanes[lane].isSignalled = false
            state.lanes[lane].isCalled = false
            return state.isClosing
        }
    }

    /// Whether nothing waits; may have changed when the caller looks.
    var isEmpty: Bool { state.withLock { $0.queue.isEmpty } }

    /// The next `count` entries at the most, all of one page: of a small one, or of the larger ones, which have their turns part
    /// by part.
    func take(_ count: Int, _ lane: Int, _ standing: Standing) -> PagePart? {
        state.withLock { state in
            state.lanes[lane].standing = standing
            guard count > 0, let index = next(&state, standing) else { return nil }
            var part = state.queue.remove(at: index)
            let count = part.isSmall ? count : min(count, standing.roomForLarge)
            if part.range.count > count {
                let rest = PagePart(shared: part.shared, range: part.range.lowerBound + count..<part.range.upperBound)
                state.queue.append(rest)
                part.range = part.range.lowerBound..<rest.range.lowerBound
            }
            self.count(part, -1, &state)
            state.lanes[lane].standing.room -= part.range.count
            return part
        }
    }

    /// False when there is work that the lane has room for, or news that it has not seen. Otherwise it may sleep until its
    /// event, a socket or a timer; work that it has no room for may be another lane's.
    func rest(_ lane: Int, _ standing: Standing) -> Bool {
        state.withLock { state in
            var work = Work(state)
            for other in state.lanes.indices where other != lane && state.lanes[other].standing.held > 0 {
                work.leave(to: state.lanes[other].standing)
            }
            guard !state.lanes[lane].isCalled, !work.isFor(standing) else { return false }
            state.lanes[lane].standing = standing
            state.lanes[lane].isResting = true
            wakeForWork(&state)
            return true
        }
    }

    /// Takes out what waits of a page.
    func withdraw(_ page: SharedPage) -> [PagePart] {
        state.withLock { state in withdraw(&state) { $0.shared === page } }
    }

    func withdrawAll() -> [PagePart] {
        state.withLock { state in withdraw(&state) { _ in true } }
    }

    /// A lane could not connect: it gives back what it had. Returned is what has to be given up: nothing, as long as
    /// another lane has a connection that works; otherwise that and all that waits.
    func connectionFailed(_ lane: Int, returning parts: [PagePart]) -> [PagePart] {
        state.withLock { state in
            state.lanes[lane].standing = Standing()
            guard !state.isClosing, state.lanes.contains(where: \.standing.isConnected) else {
                return parts + withdraw(&state) { _ in true }
            }
            state.queue.insert(contentsOf: parts, at: 0)
            for part in parts { count(part, +1, &state) }
            wakeForWork(&state)
            return []
        }
    }

    /// The lane, last of all.
    func end(_ lane: Int) {
        let closers: [CheckedContinuation<Void, Never>] = state.withLock { state in
            state.lanes[lane].standing = Standing()
            state.running -= 1
            return state.running == 0 ? state.closers : []
        }
        closers.forEach { $0.resume() }
    }

    // MARK: Under the lock

    /// Whose turn it is, of what a lane of that standing may take.
    private func next(_ state: inout State, _ standing: Standing) -> Int? {
        guard let first = state.queue.first else { return nil }
        if first.isSmall { return 0 }
        let mayBeLarge = standing.roomForLarge > 0
        if state.waitingSmall > 0, state.overtaken < Self.overtakings || !mayBeLarge {
            state.overtaken += 1
            return state.queue.firstIndex(where: \.isSmall)
        }
        state.overtaken = 0
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

    /// Entries that no lane has been found for.
    private struct Work {
        var small: Int
        var large: Int

        init(_ state: State) { (small, large) = (state.waitingSmall, state.waiting - state.waitingSmall) }

        /// Takes off what a lane of that standing has room for; false when that is nothing.
        mutating func give(to standing: Standing) -> Bool {
            let ofLarge = min(large, standing.roomForLarge)
            let ofSmall = min(small, max(0, standing.room - ofLarge))
            large -= ofLarge
            small -= ofSmall
            return ofLarge + ofSmall > 0
        }

        /// Takes off what a lane of that standing will come for by itself.
        mutating func leave(to standing: Standing) {
            large -= min(large, max(0, standing.room - standing.reserve) - standing.roomForLarge)
        }

        func isFor(_ standing: Standing) -> Bool {
            var copy = self
            return copy.give(to: standing)
        }
    }

    /// Wakes as many sleepers as there is work for: first those with streams free, the quickest before; then, for what is
    /// left, those that have to connect first. So connections are made as work needs them, more while windows are small.
    private func wakeForWork(_ state: inout State) {
        var left = Work(state)
        for lane in state.lanes where lane.standing.isConnected {
            if !lane.isResting { _ = left.give(to: lane.standing) }
            left.leave(to: lane.standing)
        }
        while true {
            let sleepers = state.lanes.indices.filter {
                state.lanes[$0].isResting && left.isFor(state.lanes[$0].standing)
            }
            guard let next = sleepers.min(by: { precedes(state.lanes[$0].standing, state.lanes[$1].standing) }) else {
                return
            }
            _ = left.give(to: state.lanes[next].standing)
            wake(next, &state)
        }
    }

    private func precedes(_ one: Standing, _ other: Standing) -> Bool {
        one.isConnected != other.isConnected ? one.isConnected : one.pace < other.pace
    }

    private func call(_ lane: Int, _ state: inout State) {
        state.lanes[lane].isCalled = true
        if state.lanes[lane].isResting { wake(lane, &state) }
    }

    private func wake(_ lane: Int, _ state: inout State) {
        state.lanes[lane].isResting = false
        guard !state.lanes[lane].isSignalled else { return }
        state.lanes[lane].isSignalled = true
        events[lane].signal()
    }
}

/// A lane's place at the board. The board lives as long as the lane.
struct LaneSeat: Sendable {
    let board: PageBoard
    let number: Int

    var descriptor: Int32 { board.descriptor(number) }
    func call() { board.call(number) }
    func awake() -> Bool { board.awake(number) }
    func take(_ count: Int, _ standing: PageBoard.Standing) -> PagePart? { board.take(count, number, standing) }
    func rest(_ standing: PageBoard.Standing) -> Bool { board.rest(number, standing) }
    func connectionFailed(returning parts: [PagePart]) -> [PagePart] {
        board.connectionFailed(number, returning: parts)
    }
    func end() { board.end(number) }
}
