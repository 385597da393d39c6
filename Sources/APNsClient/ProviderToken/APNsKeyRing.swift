internal import Synchronization

/// The keys of an app in one environment, the preferred one first. Another one takes over when APNs refuses it. All
/// transports of the environment share the ring, so that keys can be replaced while pushes go on.
public final class APNsKeyRing: Sendable {
    private struct State {
        var keys: [APNsKey]
        var generation = 0
    }

    private let state: Mutex<State>

    public init(_ keys: [APNsKey]) { state = Mutex(State(keys: keys)) }

    /// Uses other keys from now on. Tokens of keys that stay remain in use.
    /// - Returns: false if these are the keys that it has
    /// - Throws: if one of the keys cannot sign; the ring is unchanged then
    public func replace(with keys: [APNsKey]) throws(APNsClientError) -> Bool {
        try Self.check(keys)
        return state.withLock { state in
            guard state.keys.map(\.identity) != keys.map(\.identity) else { return false }
            state.keys = keys
            state.generation += 1
            return true
        }
    }

    /// The generation rises with each replacement.
    var current: (keys: [APNsKey], generation: Int) { state.withLock { ($0.keys, $0.generation) } }

    func check() throws(APNsClientError) { try Self.check(current.keys) }

    private static func check(_ keys: [APNsKey]) throws(APNsClientError) {
        guard !keys.isEmpty else { throw .configuration(field: "apns key_file", "expected at least one key") }
        for key in keys { try key.check() }
    }
}
