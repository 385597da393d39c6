#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Epoch milliseconds of the system's clock.
@Sendable
package func wallClock() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
}

/// Milliseconds since boot, suspension included. This clock is never set.
@Sendable
package func bootClock() -> Int64 {
    #if canImport(Glibc) || canImport(Musl)
        let clock = CLOCK_BOOTTIME
    #else
        let clock = CLOCK_MONOTONIC
    #endif
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
}

extension Duration {
    /// Whole milliseconds, rounded towards zero.
    package var milliseconds: Int64 {
        components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000
    }
}
