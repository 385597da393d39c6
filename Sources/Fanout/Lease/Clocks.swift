import LiveActivity

/// The clock of the worker's leases, circuits and permissions, in milliseconds.
enum Clocks {
    /// Milliseconds since boot, suspension included. On this clock a lease expires even if the machine or the process
    /// slept.
    static func sinceBoot() -> Int64 { bootClock() }
}
