/// How many requests of large pages one connection may begin now. A thousand handed over at once are answered at once, and
/// so on, round trip after round trip, and each time a small page finds all of them before it on the wire and at the
/// server. Spread, a little faster than answers free their places, they come to lie evenly over the round trip and stay so:
/// then hardly anything is held back any more.
struct Pacing: Sendable, Hashable {
    /// Milliseconds between two portions: a wake-up each.
    static let interval: Int64 = 2
    /// A portion is at least this: one part of a page.
    static let least = 32
    /// Where answers come within so many milliseconds a connection is filled at once: what is gained is less than the
    /// wake-ups cost.
    static let quick: Int64 = 16

    /// What is left of the portion; `.max` where requests are quicker than portions would be.
    private(set) var left = 0
    /// When the next portion is due, monotonic milliseconds.
    private(set) var next: Int64 = .min

    /// At each turn. `pace`: milliseconds that a request takes, 0 while that is unknown.
    mutating func turn(now: Int64, places: Int, pace: Int64) {
        guard now >= next else { return }
        if pace <= Self.quick {
            left = .max
            // As soon as it becomes slower.
            next = now
        } else {
            // An eighth more than answers free in that time. Twice as many would be more than some servers get through, and
            // what they cannot, they answer together.
            left = max(Self.least, Int(9 * Int64(places) * Self.interval / (8 * pace)))
            next = now + Self.interval
        }
    }

    mutating func began(_ count: Int) {
        if left < .max { left = max(0, left - count) }
    }

    /// Places of `room` that large pages leave alone until `next`.
    func heldBack(of room: Int, now: Int64) -> Int { now < next ? max(0, room - left) : 0 }
}
