import LiveActivity
import Logging
import ServiceLifecycle
import Store

/// How far this machine's clock and Redis's differ, in words.
struct ClockDifference: CustomStringConvertible {
    /// How far two clocks may differ that a time service keeps right.
    static let tolerated: Duration = .seconds(2)
    /// Ms that this machine's clock is ahead of Redis's.
    let ahead: Int64

    /// The warning about a clock that is ahead of Redis's, or behind it. Nil: it differs by no more than `most`.
    init?(ahead: Int64, most: Duration = Self.tolerated) {
        guard abs(ahead) > most.milliseconds else { return nil }
        self.ahead = ahead
    }

    var description: String {
        let seconds = Terminal.grouped(Int((abs(ahead) + 500) / 1_000))
        return "this machine's clock is \(seconds) s \(ahead > 0 ? "ahead of" : "behind") Redis's"
    }
}

/// Tells operators while this machine's clock and Redis's differ. Work goes on, because all of it is dated by Redis's.
struct ClockWatch: Service {
    static let interval: Duration = .seconds(10)
    /// A larger difference is an alarm.
    static let limit: Duration = .seconds(5)

    let store: Store
    let apps: [AppKey]
    /// Names this process in the alarm.
    let process: String
    let logger: Logger

    func run() async throws {
        var isRaised = false
        while !Task.isShuttingDownGracefully {
            let difference = store.time.machineAhead.flatMap { ClockDifference(ahead: $0, most: Self.limit) }
            if let difference {
                if !isRaised { logger.warning("\(difference): see 'lamplighter doctor'") }
                for app in apps { try? await store.alarms.raise(app, .clock, "\(process): \(difference)") }
            } else if isRaised {
                logger.notice("this machine's clock and Redis's agree again")
                // Another process whose clock is wrong raises the alarm again.
                for app in apps { try? await store.alarms.clear(app, .clock) }
            }
            isRaised = difference != nil
            try? await cancelWhenGracefulShutdown { try await Task.sleep(for: Self.interval) }
        }
    }
}
