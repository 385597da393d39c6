internal import APNsWire
internal import Curl
internal import LiveActivity
internal import Synchronization

/// What a page's requests share.
enum LanePush: Sendable, Hashable {
    case devices(PreparedPush)
    /// One request, whose page has one entry without a meaning.
    case broadcast(PreparedBroadcast)

    /// Without `authorization`.
    var fields: [(name: String, value: String)] {
        switch self {
        case .devices(let push): push.headers.fields
        case .broadcast(let broadcast): broadcast.headers.fields
        }
    }

    var payload: [UInt8] {
        switch self {
        case .devices(let push): push.payload
        case .broadcast(let broadcast): broadcast.payload
        }
    }
}

/// A page on its way to a lane, with the one continuation that its outcome resumes.
struct PageRequest: Sendable {
    let page: TokenPage
    let push: LanePush
    let permission: any SendPermission
    let continuation: CheckedContinuation<PageOutcome, Never>
}

/// The only way into a lane's thread: any thread posts, the lane takes. One lock and at most one eventfd write per page.
final class LaneMailbox: Sendable {
    struct Delivery {
        var pages: [PageRequest] = []
        var isClosing = false
    }

    private struct State {
        var delivery = Delivery()
        /// The event has been signalled and not been cleared since.
        var isSignalled = false
        var hasEnded = false
        var closers: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    private let event: WakeEvent
    /// Readable when something has been posted. Closed with the mailbox, which the lane holds as long as it polls.
    var descriptor: Int32 { event.descriptor }
    /// Tokens queued or in flight, counted by the page. The transport keeps it.
    let load = Atomic(0)

    /// Nil when the process is out of descriptors.
    init?() {
        guard let event = WakeEvent() else { return nil }
        self.event = event
    }

    /// False when the lane is closing: the page is the caller's to answer.
    func post(_ request: PageRequest) -> Bool {
        state.withLock { state in
            guard !state.delivery.isClosing else { return false }
            state.delivery.pages.append(request)
            signal(&state)
            return true
        }
    }

    /// No pages from here on; the lane ends when what is in flight has ended.
    func beginClosing() {
        state.withLock { state in
            state.delivery.isClosing = true
            signal(&state)
        }
    }

    /// Makes the lane look around: what it waits for elsewhere is there.
    func wake() { state.withLock { signal(&$0) } }

    /// Returns when the lane has ended.
    func waitForEnd() async {
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { state in
                if !state.hasEnded { state.closers.append(continuation) }
                return state.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }

    /// The lane: what has been posted since the last time.
    func take() -> Delivery {
        state.withLock { state in
            if state.isSignalled {
                state.isSignalled = false
                event.clear()
            }
            let delivery = state.delivery
            state.delivery.pages = []
            return delivery
        }
    }

    /// The lane, last of all.
    func end() {
        let closers = state.withLock { state in
            state.hasEnded = true
            return state.closers
        }
        closers.forEach { $0.resume() }
    }

    private func signal(_ state: inout State) {
        guard !state.isSignalled else { return }
        state.isSignalled = true
        event.signal()
    }
}
