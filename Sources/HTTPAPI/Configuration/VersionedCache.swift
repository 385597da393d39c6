import LiveActivity
import Store
import Synchronization
import Threads

/// A part of each app that Redis has under a version, as this gateway knows it. A reading is used for a second, so a
/// change at one gateway is in force at every gateway a second later. Requests that ask at once share a question.
final class VersionedCache<Value: Sendable>: Sendable {
    struct Reading: Sendable {
        var version: Int
        var value: Value
    }

    private struct Known {
        var reading: Reading
        /// When the question was sent whose answer this is.
        var asked: ContinuousClock.Instant
    }

    private struct State {
        var known: Known?
        /// Changes by this gateway.
        var changes = 0
    }

    static var freshness: Duration { .seconds(1) }
    private let unread: Reading
    private let version: @Sendable (AppKey) async throws(StoreError) -> Int
    private let read: @Sendable (AppKey) async throws(StoreError) -> Reading
    private let now: @Sendable () -> ContinuousClock.Instant
    private let states = Mutex<[AppKey: State]>([:])
    private let questions = SharedCall<AppKey, Value, StoreError>()

    /// - Parameters:
    ///   - unread: stands for an app that was never read. Nothing is read if Redis has its version.
    ///   - version: asks Redis for the version alone
    init(
        unread: Reading, version: @escaping @Sendable (AppKey) async throws(StoreError) -> Int,
        read: @escaping @Sendable (AppKey) async throws(StoreError) -> Reading,
        now: @escaping @Sendable () -> ContinuousClock.Instant
    ) {
        (self.unread, self.version, self.read, self.now) = (unread, version, read, now)
    }

    /// The value as it was at most a second ago.
    func recent(_ app: AppKey) async throws(StoreError) -> Value {
        let now = now()
        if let known = states.withLock({ $0[app]?.known }), known.asked + Self.freshness > now {
            return known.reading.value
        }
        return try await current(app)
    }

    /// The value as it is now. The question is sent after this call began.
    func current(_ app: AppKey) async throws(StoreError) -> Value {
        try await questions.result(app) { () async throws(StoreError) in try await self.ask(app) }
    }

    /// The last reading, however old it is. Nil: there is none.
    func last(_ app: AppKey) -> Value? { states.withLock { $0[app]?.known?.reading.value } }

    /// Uses the last reading for another second, as if Redis had confirmed it.
    func prolong(_ app: AppKey) {
        let now = now()
        states.withLock { $0[app]?.known?.asked = now }
    }

    /// Drops the app's reading, so that a change by this gateway is in force at once.
    func forget(_ app: AppKey) {
        states.withLock { states in
            var state = states[app] ?? State()
            (state.known, state.changes) = (nil, state.changes + 1)
            states[app] = state
        }
    }

    private func ask(_ app: AppKey) async throws(StoreError) -> Value {
        let asked = now()
        let before = states.withLock { $0[app] } ?? State()
        var reading = before.known?.reading ?? unread
        if try await version(app) != reading.version { reading = try await read(app) }
        let known = Known(reading: reading, asked: asked)
        states.withLock { states in
            var state = states[app] ?? State()
            guard state.changes == before.changes else { return }
            state.known = known
            states[app] = state
        }
        return reading.value
    }
}
