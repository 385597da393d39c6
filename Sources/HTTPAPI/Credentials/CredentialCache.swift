import LiveActivity
import Store
import Synchronization

/// The credentials of each app that are in Redis, as this gateway knows them. A reading is used for a second, and
/// only requests with a credential make it ask. So a revocation is in force at every gateway a second later.
///
/// Requests share questions: at most one for each app is on its way, and one waits behind it. A flood of wrong secrets
/// costs Redis no more than that.
final class CredentialCache: Sendable {
    private struct Known {
        var version = -1
        var credentials: [String: CheckedCredential] = [:]
        /// When the question was sent whose answer this is.
        var asked: ContinuousClock.Instant
    }

    private typealias Question = Task<Result<Known, StoreError>, Never>

    private struct State {
        var known: Known?
        /// The newest question.
        var question: Question?
        var number = 0
        /// Whether the newest question is sent. Until then others may wait for its answer too.
        var isSent = false
        var changes = 0
    }

    static let freshness: Duration = .seconds(1)
    private let credentials: Credentials
    private let now: @Sendable () -> ContinuousClock.Instant
    private let states = Mutex<[AppKey: State]>([:])

    init(_ credentials: Credentials, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        self.credentials = credentials
        self.now = now
    }

    /// The credential as it was at most a second ago.
    /// - Throws: if Redis does not say whether it is still valid.
    func recent(_ app: AppKey, _ id: String) async throws(StoreError) -> CheckedCredential? {
        let now = now()
        let known = states.withLock { $0[app]?.known }
        if let known, known.asked + Self.freshness > now { return known.credentials[id] }
        return try await current(app, id)
    }

    /// The credential as it is now. The question is sent after this call began.
    func current(_ app: AppKey, _ id: String) async throws(StoreError) -> CheckedCredential? {
        try await question(app).value.get().credentials[id]
    }

    /// Drops what is known, so that a change by this gateway is in force at once.
    func forget(_ app: AppKey) {
        states.withLock { states in
            states[app]?.known = nil
            states[app]?.changes += 1
        }
    }

    private func question(_ app: AppKey) -> Question {
        states.withLock { states in
            var state = states[app] ?? State()
            if let question = state.question, !state.isSent { return question }
            let previous = state.question
            state.number += 1
            let number = state.number
            let question = Question { [self] in
                _ = await previous?.value
                return await ask(app, number)
            }
            (state.question, state.isSent) = (question, false)
            states[app] = state
            return question
        }
    }

    private func ask(_ app: AppKey, _ number: Int) async -> Result<Known, StoreError> {
        let asked = now()
        let (before, changes) = states.withLock { states in
            if states[app]?.number == number { states[app]?.isSent = true }
            return (states[app]?.known, states[app]?.changes)
        }
        var known = before ?? Known(asked: asked)
        known.asked = asked
        do throws(StoreError) {
            let version = try await credentials.version(app)
            if known.version != version {
                let (version, all) = try await credentials.all(app)
                known.version = version
                known.credentials = Dictionary(uniqueKeysWithValues: all.map { ($0.id, CheckedCredential($0)) })
            }
        } catch {
            return .failure(error)
        }
        states.withLock { states in
            if states[app]?.changes == changes { states[app]?.known = known }
            // Only the requests that wait for it now need this answer.
            if states[app]?.number == number { states[app]?.question = nil }
        }
        return .success(known)
    }
}
