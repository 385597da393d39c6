internal import Synchronization

/// Lets tasks that need the same call at once share it. At most one call for each key is on its way, and one waits
/// behind it. Each task gets the result of a call that began after the task asked.
public final class SharedCall<Key: Hashable & Sendable, Value: Sendable, Failure: Error>: Sendable {
    private typealias Call = Task<Result<Value, Failure>, Never>

    private struct Newest {
        var call: Call
        var number: Int
        /// Until it begins, others may wait for its result too.
        var hasBegun = false
    }

    private let newest = Mutex<[Key: Newest]>([:])

    public init() {}

    /// - Parameter call: of tasks that share a call, the first one's is made.
    public func result(
        _ key: Key, of call: @escaping @Sendable () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        try await shared(key, call).value.get()
    }

    private func shared(_ key: Key, _ call: @escaping @Sendable () async throws(Failure) -> Value) -> Call {
        newest.withLock { newest in
            let previous = newest[key]
            if let previous, !previous.hasBegun { return previous.call }
            let number = (previous?.number ?? 0) + 1
            let next = Call { [self] in
                _ = await previous?.call.value
                change(key, number) { $0?.hasBegun = true }
                let result: Result<Value, Failure>
                do throws(Failure) { result = .success(try await call()) } catch { result = .failure(error) }
                // Only the tasks that wait for it now need this result.
                change(key, number) { $0 = nil }
                return result
            }
            newest[key] = Newest(call: next, number: number)
            return next
        }
    }

    /// Changes the key's newest call, if it still is this one.
    private func change(_ key: Key, _ number: Int, _ body: (inout Newest?) -> Void) {
        newest.withLock { if $0[key]?.number == number { body(&$0[key]) } }
    }
}
