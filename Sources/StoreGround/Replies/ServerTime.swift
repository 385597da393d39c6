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
    /// How often a gateway measures. Workers do it more often, because they find the steps.
    public static let interval: Duration = .seconds(2)
    public static let intervalOfWorkers: Duration = .milliseconds(1_500)
    /// How far a process's time may be off while Redis's clock is not set: a measurement in a busy deployment.
    public static let error = ScriptNumbers.clockError
    /// How often a process looks what others have found, and notes that it has seen the clock, ms. It looks at once
    /// when it hears an earlier time than before.
    private static let pause: Int64 = 10_000
    /// A noted time that is less old stays, ms.
    private static let noted: Int64 = 1_000
    /// The most that the latest time is behind when the clock is set, ms: one that this process has heard, or one that
    /// another has noted.
    private static let (margin, marginOfOthers): (Int64, Int64) = (3_000, 13_000)
    /// Looks of a gateway after it heard an earlier time. A worker may find the step later than the gateway.
    private static let looksAfterStep = 5
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
        /// When this process learned of it, by the boot clock.
        var stepKnownAt: Int64 = 0
        /// The latest time that Redis has told, epoch ms, since the number of steps was `steps`; nil before the first
        /// look.
        var heard: Int64?
        var steps = 0
        /// When the last look was, by the boot clock, and how many more come without a pause.
        var looked: Int64 = 0
        var looksLeft = 0
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
    /// How far ahead of `now` a time may lie that another process stored, ms. After a step back, times from before it
    /// lie ahead until the clock is where it was, so none is believed for so long.
    @Sendable
    public func ahead() -> Int64 {
        state.withLock { state in
            let isBehind = state.step.map { bootClock() < state.stepKnownAt + $0.by + Self.error.milliseconds } ?? false
            return isBehind ? 0 : Self.error.milliseconds
        }
    }

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

    /// Measures, and learns of a step back: at once, if this process heard a later time before; otherwise with the next
    /// `look`, which comes every few seconds.
    public func watch(notes: Bool = true) async throws(StoreError) {
        let asked = bootClock()
        let (heard, mustLook) = state.withLock { state in
            defer { state.looksLeft = max(0, state.looksLeft - 1) }
            return (state.heard, state.looksLeft > 0 || asked - state.looked >= Self.pause)
        }
        guard let heard, !mustLook else { return try await look(notes: notes) }
        let time = try await redis.run(RedisCommand("TIME", near: Keyspace.queue)).redisTime()
        take(time, asked: asked, answered: bootClock())
        if time >= heard { return state.withLock { $0.heard = time } }
        state.withLock { $0.looksLeft = Self.looksAfterStep }
        try await look(notes: notes)
    }

    /// Measures, and learns whether the clock was set back since any worker last looked.
    /// - Parameter notes: false only learns what workers have found. A gateway that nobody asks for anything writes
    ///   nothing.
    public func look(notes: Bool = true) async throws(StoreError) {
        let asked = bootClock()
        let (heard, steps) = state.withLock { ($0.heard, $0.steps) }
        let reply = try await redis.run(
            Lua.clockLook, keys: ["clock": keys.clock],
            [
                "error": .int(Self.error.milliseconds), "pause": .int(Self.noted),
                "margin": .int(heard == nil ? Self.marginOfOthers : Self.margin), "known": .int(heard ?? 0),
                "number": .int(steps), "notes": notes ? "1" : "0", "memory": .int(Self.memory),
            ])
        let (time, number, by, latest) = try reply.values(
            .time("time"), .integer("step"), .time("by"), .integer("latest step"))
        take(time, asked: asked, answered: bootClock())
        state.withLock { state in
            if number > 0, number != state.step?.number { state.stepKnownAt = asked }
            state.step = number > 0 ? Step(number: number, by: by) : nil
            (state.heard, state.steps, state.looked) = (time, latest, asked)
        }
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
