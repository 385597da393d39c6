/// A connection of a lane with the requests of its streams.
protocol LaneConnection: AnyObject {
    /// The part that all requests of a page share, in the form that the connection takes.
    associatedtype Template

    var inFlight: Int { get }
    /// How many requests may be in flight.
    var streams: Int { get }
    var use: ConnectionUse { get set }
    /// Takes back the requests that have not begun to be sent.
    func takeBackUnsent() -> [LaneRequest<Template>]
}
