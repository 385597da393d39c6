internal import Synchronization

/// The service account of an app, which a reload replaces while messages go on.
public final class LiveServiceAccount: Sendable {
    private struct State {
        var account: ServiceAccount
        var generation = 0
    }

    private let state: Mutex<State>

    public init(_ account: ServiceAccount) { state = Mutex(State(account: account)) }

    public var current: ServiceAccount { state.withLock { $0.account } }
    /// The generation rises with each replacement.
    var versioned: (account: ServiceAccount, generation: Int) { state.withLock { ($0.account, $0.generation) } }

    /// Uses another account from now on. An access token of the old account goes on until the new account has one.
    public func replace(with account: ServiceAccount) {
        state.withLock { state in
            guard !account.isSame(as: state.account) else { return }
            state.account = account
            state.generation += 1
        }
    }

    /// An address belongs to its project: FCM would call all addresses of an app wrong in another one, and the worker
    /// would remove them.
    /// - Throws: if the account is of another project than the account in use
    public func check(_ account: ServiceAccount) throws(ServiceAccountError) {
        let (old, new) = (current.projectID, account.projectID)
        guard old != new else { return }
        throw ServiceAccountError(
            field: "project_id", "is \(new) instead of \(old): another project needs a restart of the worker")
    }
}
