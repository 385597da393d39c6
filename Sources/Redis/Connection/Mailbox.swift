internal import Synchronization
internal import Threads

/// The only state that callers and a connection's thread share. Callers add batches, and the thread takes all of them.
/// Both sides hold the mailbox, and the eventfd lives as long as it.
final class Mailbox: Sendable {
    typealias Caller = CheckedContinuation<Result<ReplyArena, RedisError>, Never>
    private struct State {
        var batches: [Batch<Caller>] = []
        var isClosing = false
        var hasEnded = false
        /// The eventfd was written after the thread last took the batches, or the thread comes by itself.
        var isSignalled = false
        var closers: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    private let metrics: RedisMetrics
    private let measuresRoundTrips: Bool
    /// The connection's thread polls it. Nil when the process is out of descriptors: the thread does not start then.
    let wakeUp = WakeEvent()
    /// How many replies callers wait for. `RedisClient` chooses the connection with the smallest load.
    let load = Atomic<Int>(0)
    /// True from a failed connection attempt to the next successful one.
    let isFailing = Atomic<Bool>(false)
    let isConnected = Atomic<Bool>(false)
    /// The server's id of the current connection (CLIENT ID). 0 without one.
    let clientID = Atomic<Int>(0)
    /// The sentinels have said something that may concern this connection.
    let hasNews = Atomic<Bool>(false)
    /// The minor version of TLS on the last connection: 3 for TLS 1.3, 0 without TLS.
    let tlsMinorVersion = Atomic<Int>(0)

    /// - Parameter measures: whether round trips are measured
    init(_ metrics: RedisMetrics, measures: Bool) { (self.metrics, measuresRoundTrips) = (metrics, measures) }

    /// Sends commands and waits for their replies, without blocking the calling thread.
    func exchange(_ bytes: [UInt8], replies: Int, blocking: Duration = .zero) async throws(RedisError) -> ReplyArena {
        let began = ContinuousClock.now
        let result = await withCheckedContinuation { continuation in
            put(Batch(bytes: bytes, replies: replies, blocking: blocking, caller: continuation))
        }
        _ = load.load(ordering: .acquiring)
        switch result {
        case .success(let arena):
            // A read that blocks takes as long as there is no work.
            if measuresRoundTrips, blocking == .zero { metrics.exchanged(in: began.duration(to: .now)) }
            for code in arena.errorCodes { metrics.answered(error: code) }
            return arena
        case .failure(let error):
            metrics.failed(error)
            throw error
        }
    }

    private func put(_ batch: Batch<Caller>) {
        load.add(batch.replies, ordering: .relaxed)
        let (accepted, mustSignal) = state.withLock { state in
            guard !state.isClosing else { return (false, false) }
            state.batches.append(batch)
            defer { state.isSignalled = true }
            return (true, !state.isSignalled)
        }
        if mustSignal { wakeUp?.signal() }
        if !accepted { resume(batch, .failure(.closed)) }
    }

    /// Takes all queued batches, in order. Only the connection's thread may call it.
    /// - Parameters:
    ///   - sharesTurns: the thread writes later batches only after the replies that are owed. They need not wake it.
    ///   - isOwed: the server owes replies to earlier batches
    func take(sharesTurns: Bool, isOwed: Bool) -> (batches: [Batch<Caller>], isClosing: Bool) {
        state.withLock { state in
            var batches: [Batch<Caller>] = []
            swap(&batches, &state.batches)
            // The thread does not sleep before it has written what it takes here, or has a time to wake up.
            state.isSignalled = sharesTurns && (isOwed || !batches.isEmpty)
            return (batches, state.isClosing)
        }
    }

    func resume(_ batch: Batch<Caller>, _ result: Result<ReplyArena, RedisError>) {
        // Release here and acquire in `exchange`. A continuation does the same, but ThreadSanitizer cannot see that
        // when the continuation is resumed before its task has suspended.
        load.subtract(batch.replies, ordering: .releasing)
        batch.caller.resume(returning: result)
    }

    var isClosing: Bool { state.withLock { $0.isClosing } }

    /// Refuses further batches and lets the thread end soon. May be called repeatedly.
    func close() {
        let first = state.withLock { state in
            defer { state.isClosing = true }
            return !state.isClosing
        }
        if first { wakeUp?.signal() }
    }

    /// Sets `hasNews` and wakes the thread.
    func tellNews() {
        hasNews.store(true, ordering: .releasing)
        wakeUp?.signal()
    }

    func waitUntilEnded() async {
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { state in
                if !state.hasEnded { state.closers.append(continuation) }
                return state.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }

    /// Called last by the thread.
    func end() {
        let closers = state.withLock { state in
            state.hasEnded = true
            return state.closers
        }
        for closer in closers { closer.resume() }
    }
}
