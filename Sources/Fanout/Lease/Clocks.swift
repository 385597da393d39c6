import LiveActivity

/// The clocks that the worker uses for decisions, in milliseconds.
enum Clocks {
    /// Epoch milliseconds.
    static func now() -> Int64 { wallClock() }

    /// Milliseconds since boot, suspension included. On this clock a lease expires even if the machine or the process
    /// slept.
    static func sinceBoot() -> Int64 { bootClock() }
}
