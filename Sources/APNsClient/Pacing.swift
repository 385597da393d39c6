/// How many requests of large pages one connection may begin now. A thousand handed over at once are answered at once, and
/// so on, round trip after round trip, and each time a small page finds all of them before it on the wire and at the
/// server. Spread, at twice the speed at which answers free their places, they come to lie evenly over the round trip and
/// stay so: then nothing is held back any more.
struct Pacing: Sendable, Hashable {
    /// Milliseconds between two portions: a wake-up each.
    static let interval: Int64 = 2
    /// A portion is at least this: one part of a page.
    static let least = 32
    /// Where so few portions would fill a connection, it is filled at once: what is gained is less than the wake-ups cost.
    static let fewest = 4

    /// What is left of the portion; `.max` where requests are quicker than portions would be.
    private(set) var left = 0
    /// When the next portion is due, monotonic milliseconds.
    private(set) var next: Int64 = .min

    /// At each turn. `pace`: milliseconds that a request takes, 0 while that is unknown.
    mutating func turn(now: Int64, places: Int, pace: Int64) {
        guard now >= next else { return }
        let portion = pace == 0 ? places : Int(2 * Int64(places) * Self.interval / pace)
        if Self.fewest * portion >= places {
            left = .max
            // As soon as it becomes slower.
            next = now
        } else {
            left = max(Self.least, portion)
            next = now + Self.interval
        }
    }

    mutating func began(_ count: Int) {
        if left < .max { left = max(0, left - count) }
    }

    /// Places of `room` that large pages leave alone until `next`.
    func heldBack(of room: Int, now: Int64) -> Int { now < next ? max(0, room - left) : 0 }
}
