import LiveActivity
package import Redis
import Synchronization

/// The one clock of a deployment: Redis's clock, as this process last measured it. Times that processes send to Redis
/// (registrations, due times) can be compared, however much their clocks differ. Scripts that decide an order ask Redis
/// itself. Between measurements it follows the boot clock, which is never set; before the first it is the machine's.
///
/// Redis's clock may be set too. A process notices at its next measurement. Then `now` jumps, so nobody may wait for a
/// time without looking at the clock again (docs/adr/0033-clock-steps.md).
public final class ServerTime: Sendable {
    /// How often a gateway measures. Workers look a little more often.
    public static let interval: Duration = .seconds(1)
    /// How far a process's time may be off while Redis's clock is not set: a measurement in a busy deployment.
    public static let error = ScriptNumbers.clockError
    /// How often a process notes in Redis that it has seen the clock, and the most that a noted time is behind when
    /// the clock is set.
    private static let (pause, margin): (Int64, Int64) = (1_000, 3_000)
    /// For how long a step back counts, ms: longer than any timer runs that does not end by the calendar.
    private static let memory: Int64 = 2 * 3_600_000

    /// Redis's clock was set back.
    public struct Step: Sendable, Hashable {
        /// Another one for each step.
        public var number: Int
        /// How far, ms: a little more than it was. If all workers stalled meanwhile, it may be less by that time.
        public var by: Int64
    }

    private struct Measurement {
        /// Redis's epoch milliseconds minus milliseconds since boot.
        var offset: Int64
        /// How far the offset may be off, ms.
        var error: Int64
        /// When it was measured, by the boot clock.
        var at: Int64

        /// A quartz clock drifts by at most 100 µs a second.
        func error(at now: Int64) -> Int64 { error + (now - at) / 10_000 }
    }

    private struct State {
        var measured: Measurement?
        var step: Step?
    }

    private let redis: RedisClient
    private let keys: Keyspace
    private let machine: @Sendable () -> Int64
    private let state = Mutex(State())

    /// - Parameter machine: this machine's clock, epoch milliseconds.
    package init(
        redis: RedisClient, keys: Keyspace = Keyspace(prefix: Keyspace.defaultPrefix),
        machine: @escaping @Sendable () -> Int64 = wallClock
    ) {
        (self.redis, self.keys, self.machine) = (redis, keys, machine)
    }

    /// Epoch milliseconds.
    @Sendable
    public func now() -> Int64 { offset.map { $0 + bootClock() } ?? machine() }
    /// How far this machine's clock is ahead of Redis's, in milliseconds; nil before the first measurement.
    public var machineAhead: Int64? { offset.map { machine() - bootClock() - $0 } }
    /// The last step back of Redis's clock, as of the last `look`. Nil: none that still matters.
    public var step: Step? { state.withLock(\.step) }

    private var offset: Int64? { state.withLock { $0.measured?.offset } }

    /// Asks Redis three times and uses the fastest answer, which is wrong by at most half of its round trip.
    public func measure() async throws(StoreError) {
        for _ in 0..<3 {
            let asked = bootClock()
            let reply = try await redis.run(RedisCommand("TIME", near: Keyspace.queue))
            take(try reply.redisTime(), asked: asked, answered: bootClock())
        }
    }

    /// Measures, and learns whether the clock was set back since any worker last looked.
    /// - Parameter notes: false only learns what workers have found. A gateway that nobody asks for anything writes nothing.
    public func look(notes: Bool = true) async throws(StoreError) {
        let asked = bootClock()
        let reply = try await redis.run(
            Lua.clockLook, keys: ["clock": keys.clock],
            [
                "error": .int(Self.error.milliseconds), "pause": .int(Self.pause), "margin": .int(Self.margin),
                "notes": notes ? "1" : "0", "memory": .int(Self.memory),
            ])
        take(Int64(try reply[0].integer()), asked: asked, answered: bootClock())
        let (number, by) = (try reply[1].integer(), Int64(try reply[2].integer()))
        state.withLock { $0.step = number > 0 ? Step(number: number, by: by) : nil }
    }

    /// Uses an answer if it is better than the last measurement, or shows that the clock was set since.
    private func take(_ time: Int64, asked: Int64, answered: Int64) {
        let half = (answered - asked) / 2
        // One more, because all times are whole milliseconds.
        let new = Measurement(offset: time - asked - half, error: half + 1, at: answered)
        state.withLock { state in
            if let last = state.measured {
                let known = last.error(at: answered)
                guard new.error <= known || abs(new.offset - last.offset) > new.error + known else { return }
            }
            state.measured = new
        }
    }
}
