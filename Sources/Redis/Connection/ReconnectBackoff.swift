/// The pause before the next attempt to connect. It grows exponentially with full jitter, so that processes do not all
/// reconnect at the same moment.
struct ReconnectBackoff {
    static let first = Duration.milliseconds(50)
    static let longest = Duration.seconds(2)

    private(set) var failures = 0
    private var notBefore: ContinuousClock.Instant?

    mutating func failed(at now: ContinuousClock.Instant, random: Double = .random(in: 0...1)) {
        let ceiling = min(Self.longest, Self.first * (1 << min(failures, 10)))
        failures += 1
        notBefore = now + ceiling * random
    }

    mutating func succeeded() { self = ReconnectBackoff() }

    /// The rest of the pause. Nil if an attempt is due.
    func remaining(at now: ContinuousClock.Instant) -> Duration? {
        guard let notBefore, notBefore > now else { return nil }
        return notBefore - now
    }
}
