internal import APNsWire
internal import LiveActivity
internal import Synchronization

/// A page in a transport. Lanes take parts of it and settle them in any order, each from its own thread. The last part
/// resumes the sender.
final class SharedPage: Sendable {
    private struct State {
        var outcome = PageOutcome()
        var remaining: Int
    }

    let page: TokenPage
    let push: LanePush
    /// That of the push.
    let trace: Trace?
    /// Asked before each request.
    let permission: any SendPermission
    private let continuation: CheckedContinuation<PageOutcome, Never>
    private let state: Mutex<State>

    init(
        _ page: TokenPage, _ push: LanePush, _ permission: any SendPermission,
        _ continuation: CheckedContinuation<PageOutcome, Never>
    ) {
        self.page = page
        self.push = push
        trace = push.trace
        self.permission = permission
        self.continuation = continuation
        state = Mutex(State(remaining: page.count))
    }

    /// Adds the outcomes of some entries. Each entry must be settled exactly once.
    func settle(_ part: PageOutcome) {
        guard part.accepted + part.exceptions.count > 0 else { return }
        let whole: PageOutcome? = state.withLock { state in
            state.outcome.accepted += part.accepted
            state.outcome.exceptions += part.exceptions
            state.remaining -= part.accepted + part.exceptions.count
            return state.remaining == 0 ? state.outcome : nil
        }
        guard var whole else { return }
        whole.exceptions.sort { $0.index < $1.index }
        continuation.resume(returning: whole)
    }
}
