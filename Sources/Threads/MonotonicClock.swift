internal import Glibc

/// Milliseconds of `CLOCK_MONOTONIC`: no one sets this clock, and it stands still while the machine is suspended.
public func monotonicMilliseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
}
