import Delivery
import LiveActivity
import Synchronization
import Threads

/// The circuit breaker of each app on each platform. While a circuit is open, the worker keeps the app's work for the
/// platform and sends none of it. Each halting answer in a row doubles that pause. After the pause the circuit is half
/// open: it lets one stream entry pass, and of that entry's first page one request, the probe (`CircuitTransport`). All
/// other work waits for the answer to the probe. The first page that delivers a token closes the circuit.
final class AppCircuits: Sendable {
    /// How long other entries wait (ms) after a half-open circuit let one pass, because it may have nothing to send.
    static let probeTurn: Int64 = 2_000

    struct Circuit: Sendable {
        var halt: Halt
        /// Boot-clock milliseconds.
        var until: Int64
        var inARow: Int
        /// A half-open circuit lets no other entry pass before this time: boot-clock milliseconds.
        var nextEntry: Int64 = 0
        var probe = Probe.none
    }

    enum Probe: Sendable {
        case none
        /// The probe is on its way, and these pages wait for its answer.
        case inFlight(waiting: [CheckedContinuation<Admission, Never>])
        case refused
        /// The platform accepted the credentials. The circuit closes with the first delivered token.
        case passed
    }

    /// How a page may proceed.
    enum Admission: Sendable {
        case send
        /// Send one request of the page, then call `probed`.
        case probe
        /// Send nothing, because this is the answer to each token of the page.
        case refused(PushOutcome)
    }

    private let circuits = Mutex<[AppPlatform: Circuit]>([:])

    /// How long a circuit stays open after the n-th halting answer in a row. One probe a minute is cheap, because it is
    /// one request. APNs counts neither refused credentials nor failed connections.
    static func pause(_ halt: Halt, inARow: Int) -> Duration {
        switch halt.cause {
        case .credentials: Backoff(first: .seconds(15), cap: .seconds(60)).pause(after: inARow + 1)
        case .unreachable: Backoff(first: .seconds(1), cap: .seconds(30)).pause(after: inARow + 1)
        // At least a second: `Retry-After` may be 0, or a date in the past, and the work would come back at once.
        case .busy: .seconds(max(1, halt.retryAfter ?? 60))
        }
    }

    /// How long the circuit would stay open if an answer opened it now.
    func nextPause(_ key: AppPlatform, _ halt: Halt) -> Duration {
        Self.pause(halt, inARow: circuits.withLock { $0[key]?.inARow ?? 0 })
    }

    /// Asks whether work of an app may begin, on one of its platforms at least.
    /// - Returns: as for one platform
    func pause(of keys: [AppPlatform], now: Int64) -> Duration? {
        var least: Duration?
        for key in keys {
            guard let pause = pause(of: key, now: now) else { return nil }
            least = min(least ?? pause, pause)
        }
        return least
    }

    /// Asks whether work of the app may begin on the platform. At a half-open circuit the caller takes the turn to send
    /// the probe.
    /// - Returns: nil if it may begin; otherwise the time after which to ask again
    func pause(of key: AppPlatform, now: Int64) -> Duration? {
        circuits.withLock { circuits in
            guard let circuit = circuits[key] else { return nil }
            if circuit.until > now { return .milliseconds(circuit.until - now) }
            if case .passed = circuit.probe { return nil }
            guard circuit.nextEntry <= now else { return .milliseconds(circuit.nextEntry - now) }
            circuits[key]?.nextEntry = now + Self.probeTurn
            return nil
        }
    }

    /// Opens the app's circuit.
    /// - Returns: true if it was not open already, so the caller raises or repeats the alarm
    func open(_ key: AppPlatform, _ halt: Halt, now: Int64) -> Bool {
        circuits.withLock { circuits in
            let before = circuits[key]
            if let before, before.until > now { return false }
            let inARow = before?.inARow ?? 0
            var circuit = Circuit(
                halt: halt, until: now + Self.pause(halt, inARow: inARow).milliseconds, inARow: inARow + 1)
            if let probe = before?.probe, case .inFlight = probe { circuit.probe = probe }
            circuits[key] = circuit
            return true
        }
    }

    /// Closes the app's circuit.
    /// - Returns: the reason for which it was open, so the caller clears the alarm; nil if it was closed
    func close(_ key: AppPlatform) -> Halt? {
        let circuit = circuits.withLock { $0.removeValue(forKey: key) }
        if case .inFlight(let waiting)? = circuit?.probe { waiting.forEach { $0.resume(returning: .send) } }
        return circuit?.halt
    }

    /// Begins with a half-open circuit, because an earlier worker raised an alarm for this halt. A good probe ends it.
    func inherit(_ key: AppPlatform, _ halt: Halt) {
        circuits.withLock { $0[key] = $0[key] ?? Circuit(halt: halt, until: 0, inARow: 0) }
    }

    /// Says how a page may proceed; waits while a probe is on its way.
    func admit(_ key: AppPlatform, now: Int64) async -> Admission {
        await withCheckedContinuation { continuation in
            let admission: Admission? = circuits.withLock { circuits in
                guard let circuit = circuits[key] else { return .send }
                if case .passed = circuit.probe { return .send }
                if circuit.until > now { return .refused(circuit.halt.outcome) }
                switch circuit.probe {
                case .passed: return .send
                case .refused: return .refused(circuit.halt.outcome)
                case .none:
                    circuits[key]?.probe = .inFlight(waiting: [])
                    return .probe
                case .inFlight(let waiting):
                    circuits[key]?.probe = .inFlight(waiting: waiting + [continuation])
                    return nil
                }
            }
            if let admission { continuation.resume(returning: admission) }
        }
    }

    /// Passes the probe on to the page that has waited longest, because the probe did not leave this machine.
    func probeWasNotSent(_ key: AppPlatform) {
        let next: CheckedContinuation<Admission, Never>? = circuits.withLock { circuits in
            guard let circuit = circuits[key], case .inFlight(var waiting) = circuit.probe else { return nil }
            let next = waiting.isEmpty ? nil : waiting.removeFirst()
            circuits[key]?.probe = next == nil ? .none : .inFlight(waiting: waiting)
            return next
        }
        next?.resume(returning: .probe)
    }

    /// Notes the answer to a probe. If APNs refused it, the circuit stays as it is until `open` sets the next pause.
    func probed(_ key: AppPlatform, hasPassed: Bool) {
        let (waiting, admission): ([CheckedContinuation<Admission, Never>], Admission) = circuits.withLock { circuits in
            guard let circuit = circuits[key], case .inFlight(let waiting) = circuit.probe else { return ([], .send) }
            circuits[key]?.probe = hasPassed ? .passed : .refused
            return (waiting, hasPassed ? .send : .refused(circuit.halt.outcome))
        }
        waiting.forEach { $0.resume(returning: admission) }
    }
}
