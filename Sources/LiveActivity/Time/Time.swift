import Glibc

/// Epoch milliseconds of the system's clock.
@Sendable package func wallClock() -> Int64 { milliseconds(of: CLOCK_REALTIME) }

/// Epoch nanoseconds of the system's clock.
package func wallNanoseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

/// Milliseconds since boot, suspension included. This clock is never set.
@Sendable package func bootClock() -> Int64 { milliseconds(of: CLOCK_BOOTTIME) }

private func milliseconds(of clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
}

extension Duration {
    /// Whole milliseconds, rounded towards zero.
    package var milliseconds: Int64 { components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000 }
}
