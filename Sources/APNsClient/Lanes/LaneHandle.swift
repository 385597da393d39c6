/// A lane's access to the page queue. The queue lives as long as the lane.
struct LaneHandle: Sendable {
    let queue: PageQueue
    let number: Int

    /// How many lanes the transport has.
    var lanes: Int { queue.laneCount }
    var descriptor: Int32 { queue.descriptor(number) }
    func call() { queue.call(number) }
    func wokeUp() -> Bool { queue.wokeUp(number) }
    func take(_ count: Int, _ capacity: PageQueue.Capacity) -> PagePart? { queue.take(count, number, capacity) }
    func sleepIfIdle(_ capacity: PageQueue.Capacity) -> Bool { queue.sleepIfIdle(number, capacity) }
    func connectionFailed(returning parts: [PagePart]) -> [PagePart] {
        queue.connectionFailed(number, returning: parts)
    }
    func end() { queue.end(number) }
}
