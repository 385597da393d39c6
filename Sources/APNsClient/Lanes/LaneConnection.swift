/// A connection of a lane with the requests of its streams.
protocol LaneConnection: AnyObject {
    /// The part that all requests of a page share, in the form that the connection takes.
    associatedtype Template

    var inFlight: Int { get }
    /// How many requests may be in flight.
    var streams: Int { get }
    /// How many requests may begin now.
    var room: Int { get }
    /// Some of its requests have not left this machine.
    var holdsRequestsBack: Bool { get }
    /// No byte came for the second half of a request's time; nil if the connection cannot know.
    func heardNothing(now: Int64, timeout: Int64) -> Bool?
    /// Whether something shows that the other side lives, and has nothing to say about the requests in flight. Asks the
    /// other side if it can.
    /// - Parameter time: only what came later counts
    func isAlive(since time: Int64, now: Int64) -> Bool
    /// Adds streams, because the other side lives and would take more requests. False if it takes no more.
    func widen() -> Bool
    var use: ConnectionUse { get set }
    /// Takes back the requests that have not begun to be sent.
    func takeBackUnsent() -> [LaneRequest<Template>]
}
