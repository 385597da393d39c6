/// Request pacing: how many requests of large pages one connection may begin now. If a thousand requests are handed
/// over together, their answers come together too, in each round trip again. A small page then finds all of them before
/// it, on the wire and at the server. So requests begin a little faster than answers free their streams. Soon they are
/// spread evenly over the round trip, and hardly any is held back.
struct RequestSpread: Sendable, Hashable {
    /// Milliseconds between two portions. Each portion costs a wake-up.
    static let interval: Int64 = 2
    /// The least size of a portion: one part of a page.
    static let least = 32
    /// Milliseconds. If answers are quicker, pacing would gain less than it costs, so a connection is filled at once.
    static let quick: Int64 = 16

    /// The rest of the portion; `.max` if requests are quicker than portions would be.
    private(set) var left = 0
    /// When the next portion is due, monotonic milliseconds.
    private(set) var next: Int64 = .min

    /// Begins a turn of the lane. `streams` requests may be in flight. One takes `pace` milliseconds; 0 if unknown.
    mutating func turn(now: Int64, streams: Int, pace: Int64) {
        guard now >= next else { return }
        if pace <= Self.quick {
            left = .max
            // Look again in the next turn, so that pacing begins as soon as requests become slower.
            next = now
        } else {
            // An eighth more than answers free in that time. Twice as many is too much for some servers, which then
            // answer the surplus together.
            left = max(Self.least, Int(9 * Int64(streams) * Self.interval / (8 * pace)))
            next = now + Self.interval
        }
    }

    /// Ends a turn in which `count` requests were handed over.
    mutating func began(_ count: Int) { if left < .max { left = max(0, left - count) } }

    /// How many of the `room` free streams large pages may not use before `next`.
    func later(of room: Int, now: Int64) -> Int { now < next ? max(0, room - left) : 0 }
}
