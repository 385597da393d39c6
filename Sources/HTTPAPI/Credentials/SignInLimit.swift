import LiveActivity
import OpenSSL
import Synchronization

/// Slows down guesses of secrets: an address has a limit of wrong secrets a minute. Beyond the limit only secrets that
/// were right before are compared, so that a guesser cannot shut out a publisher behind the same proxy. Each gateway
/// counts for itself. Tokens and signatures of devices are not guessed, and not counted.
final class SignInLimit: Sendable {
    private struct State {
        var counts: [String: Allowance] = [:]
        /// Digests of networks with headers that were right, under a key of this process. The oldest one makes room.
        var right: Set<[UInt8]> = []
        var order: [[UInt8]] = []
    }

    private static let mostAddresses = 10_000
    private static let mostRight = 4_096
    private let limit: @Sendable () -> Int
    private var perMinute: Double { Double(limit()) }
    private let key = HMACKey(UUIDBytes.random().bytes + UUIDBytes.random().bytes)
    private let state = Mutex(State())

    /// - Parameter perMinute: the limit now, which a reload may change. 0 means no limit.
    init(perMinute: @escaping @Sendable () -> Int) { limit = perMinute }

    /// The seconds until the address may try another secret. Nil: now.
    /// - Parameter header: the `Authorization` that it sends.
    func wait(_ address: ClientAddress, _ header: String, now: ContinuousClock.Instant = .now) -> Int? {
        guard counts(address) else { return nil }
        let network = address.network
        let left = state.withLock { state -> Double? in
            guard var count = state.counts[network] else { return nil }
            refill(&count, now)
            state.counts[network] = count
            return count.left
        }
        guard let left, left < 1 else { return nil }
        let digest = digest(address, header)
        if state.withLock({ $0.right.contains(digest) }) { return nil }
        return max(1, Int(((1 - left) * 60 / perMinute).rounded(.up)))
    }

    func failed(_ address: ClientAddress, now: ContinuousClock.Instant = .now) {
        guard counts(address) else { return }
        let network = address.network
        state.withLock { state in
            var count = state.counts[network] ?? Allowance(perMinute, now: now)
            refill(&count, now)
            count.use()
            state.counts[network] = count
            guard state.counts.count > Self.mostAddresses else { return }
            // Forget the addresses that have waited long enough. If there is none, forget the address with the most
            // guesses left.
            state.counts = state.counts.filter { entry in
                var count = entry.value
                refill(&count, now)
                return count.left < perMinute
            }
            guard state.counts.count > Self.mostAddresses else { return }
            // A tenth at once: one for each new address would let strangers keep the lock busy.
            let most = state.counts.sorted { $0.value.left > $1.value.left }.prefix(Self.mostAddresses / 10)
            for (network, _) in most { state.counts[network] = nil }
        }
    }

    func succeeded(_ address: ClientAddress, _ header: String) {
        guard counts(address) else { return }
        let digest = digest(address, header)
        state.withLock { state in
            guard state.right.insert(digest).inserted else { return }
            state.order.append(digest)
            if state.order.count > Self.mostRight { state.right.remove(state.order.removeFirst()) }
        }
    }

    /// An operator on this machine is not counted. Clients of a proxy that nobody has named count as one.
    private func counts(_ address: ClientAddress) -> Bool {
        perMinute > 0 && !address.isOperator
    }

    /// The digest has the network too. Otherwise a guesser could tell from the answers which secret somebody else uses.
    private func digest(_ address: ClientAddress, _ header: String) -> [UInt8] {
        Array(key.code(for: Array("\(address.network) \(header)".utf8)))
    }

    private func refill(_ count: inout Allowance, _ now: ContinuousClock.Instant) {
        count.refill(perMinute, perSecond: perMinute / 60, now: now)
    }
}
