/// Counts since the start or the last reset. `GET /simulator/record` returns them as JSON with names in snake case.
public struct SimulatorRecord: Sendable, Hashable, Codable, DeviceCounts, ConnectionCounts {
    /// Requests that were read to their end.
    public var requests = 0
    /// Requests that got a 200. `acceptedTokens` counts their different tokens (0 in fast mode).
    public var accepted = 0
    public var acceptedTokens = 0
    /// Different tokens of well-formed requests, whatever the response (0 in fast mode).
    public var tokens = 0
    public var byStatus: [String: Int] = [:]
    public var byReason: [String: Int] = [:]
    /// Accepted requests whose token had already got the same payload among its last `history` requests.
    public var duplicates = 0
    /// Accepted requests with a lower timestamp than the newest one of their token.
    public var outOfOrder = 0
    /// Accepted requests with a lower order than one before on their token. It needs `orderMember`, else it is 0.
    public var backwards = 0
    /// Accepted requests that the device dropped, because it had a newer timestamp.
    public var droppedByDevice = 0
    /// Accepted requests after the activity's `end`. The device drops these.
    public var afterEnd = 0
    /// Accepted requests that the device ignored because of their payload, by the error.
    public var ignoredByDevice: [String: Int] = [:]
    /// Requests that reached the device, but were then reset or got no response because of a fault. Not in `accepted`.
    public var acceptedUnanswered = 0
    /// Requests without a response, and streams that were reset, because of a fault.
    public var stalled = 0
    public var reset = 0
    /// Requests that were never processed: above a GOAWAY's last stream id, or refused.
    public var unprocessed = 0
    /// Streams that the client reset before their response.
    public var cancelled = 0
    public var goaways = 0
    /// GOAWAYs and refusals because a client exceeded its stream limit. They also count in `goaways` and `unprocessed`.
    public var excessStreams = 0
    /// Different provider tokens with a valid signature, on all connections.
    public var providerTokens = 0
    public var connections = 0
    public var openConnections = 0
    public var inFlight = 0
    /// The most requests in flight on one connection.
    public var maximumInFlight = 0
    /// Milliseconds since 1970.
    public var firstRequestAtMs: Int?
    public var lastRequestAtMs: Int?
    /// The current phase of the scenario, from 0. Nil before the first one, or without a scenario.
    public var phase: Int?
    /// Counts of channels. Only the counts of connections above include them.
    public var broadcasts = BroadcastRecord()
}
