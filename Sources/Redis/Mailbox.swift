internal import CHiredis
internal import Glibc
internal import Synchronization

/// Commands of one caller, encoded, and the one continuation that their replies resume.
struct Batch: Sendable {
    let bytes: [UInt8]
    let replies: Int
    /// How long the server may rightly stay silent before it answers (XREADGROUP … BLOCK).
    let blocking: Duration
    let continuation: CheckedContinuation<Result<ReplyArena, RedisError>, Never>
    /// Set when a connection broke before any byte of it was written. It is carried over to a new connection once.
    var isCarriedOver = false
}

/// The one thing that callers and a connection's thread share. Callers put batches in; the thread takes all there is.
/// The eventfd lives as long as the mailbox, which both sides hold.
final class Mailbox: Sendable {
    private struct State {
        var batches: [Batch] = []
        var isClosing = false
        var hasEnded = false
        /// The eventfd was written since the thread last took.
        var isSignalled = false
        var closers: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    let wakeUp: Int32 = chiredis_eventfd()
    /// Replies owed to callers: what `RedisClient` chooses the least loaded connection by.
    let load = Atomic<Int>(0)
    /// True from a failed connection attempt to the next successful one.
    let isFailing = Atomic<Bool>(false)
    /// The server's id of the present connection (CLIENT ID); 0 without one.
    let clientID = Atomic<Int>(0)
    /// The 3 of TLS 1.3, of the last connection; 0 without TLS.
    let tlsMinorVersion = Atomic<Int>(0)

    deinit { Glibc.close(wakeUp) }

    /// One round trip. Never blocks the calling thread.
    func exchange(
        _ bytes: [UInt8], replies: Int, blocking: Duration = .zero
    ) async throws(RedisError) -> ReplyArena {
        let result = await withCheckedContinuation { continuation in
            put(Batch(bytes: bytes, replies: replies, blocking: blocking, continuation: continuation))
        }
        _ = load.load(ordering: .acquiring)
        return try result.get()
    }

    private func put(_ batch: Batch) {
        load.add(batch.replies, ordering: .relaxed)
        let (accepted, mustSignal) = state.withLock { state in
            guard !state.isClosing else { return (false, false) }
            state.batches.append(batch)
            defer { state.isSignalled = true }
            return (true, !state.isSignalled)
        }
        if mustSignal { signal() }
        if !accepted { resume(batch, .failure(.closed)) }
    }

    /// Everything queued, in order. Thread of the connection only.
    func take() -> (batches: [Batch], isClosing: Bool) {
        state.withLock { state in
            state.isSignalled = false
            var batches: [Batch] = []
            swap(&batches, &state.batches)
            return (batches, state.isClosing)
        }
    }

    func resume(_ batch: Batch, _ result: Result<ReplyArena, RedisError>) {
        // Released here, acquired in `exchange`: the same hand-over that the continuation makes, for ThreadSanitizer,
        // which cannot see the runtime's when a continuation is resumed before its task has suspended.
        load.subtract(batch.replies, ordering: .releasing)
        batch.continuation.resume(returning: result)
    }

    var isClosing: Bool { state.withLock { $0.isClosing } }

    /// No more batches are taken; the thread ends soon. Repeatable.
    func close() {
        let first = state.withLock { state in
            defer { state.isClosing = true }
            return !state.isClosing
        }
        if first { signal() }
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

    /// The thread's last act.
    func end() {
        let closers = state.withLock { state in
            state.hasEnded = true
            return state.closers
        }
        for closer in closers { closer.resume() }
    }

    private func signal() {
        var one: UInt64 = 1
        _ = write(wakeUp, &one, 8)
    }

    /// Thread of the connection only, and before `take`: what is signalled after this is seen by the next wait.
    func clearSignal() {
        var count: UInt64 = 0
        _ = read(wakeUp, &count, 8)
    }
}
