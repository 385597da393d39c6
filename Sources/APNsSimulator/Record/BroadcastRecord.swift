/// Counts of broadcasts since the start or the last reset.
public struct BroadcastRecord: Sendable, Hashable, Codable, DeviceCounts {
    /// Broadcasts that were read to their end. `accepted` counts the broadcasts that got a 200.
    public var requests = 0
    public var accepted = 0
    public var byReason: [String: Int] = [:]
    /// The same as in `SimulatorRecord`, for a channel instead of a token.
    public var duplicates = 0
    public var outOfOrder = 0
    public var droppedByDevice = 0
    public var afterEnd = 0
    public var ignoredByDevice: [String: Int] = [:]
    public var acceptedUnanswered = 0
    /// Channels that management requests created and deleted.
    public var created = 0
    public var deleted = 0
    public var manageRequests = 0
    public var manageByReason: [String: Int] = [:]
}

/// One broadcast channel and what it received.
public struct ChannelReport: Sendable, Hashable {
    public var id: String
    public var bundleID: String
    public var storesNewest: Bool
    /// Milliseconds since 1970.
    public var createdAt: Int
    /// When the channel was deleted. Nil while it exists.
    public var deletedAt: Int?
    /// Here `token` is the channel's id.
    public var received: TokenReport

    /// One object on one line.
    var json: [UInt8] {
        var text = #"{"channel":"\#(id)","bundle_id":"\#(bundleID)","storage":"\#(storesNewest ? "newest" : "none")""#
        text += #","created_at_ms":\#(createdAt)"#
        if let deletedAt { text += #","deleted_at_ms":\#(deletedAt)"# }
        return Array((text + "," + received.receivedJSON + "}").utf8)
    }

    /// The same, with the history.
    var detailedJSON: [UInt8] { received.withHistory(json) }
}

extension Judge {
    var channelReports: [ChannelReport] { channels.order.compactMap { channelReport($0) } }

    func channelReport(_ id: String) -> ChannelReport? {
        guard let channel = channels.channels[id] else { return nil }
        var received = record.report([], channel.received)
        received.token = id
        return ChannelReport(
            id: id, bundleID: channel.bundleID, storesNewest: channel.storesNewest, createdAt: channel.createdAt,
            deletedAt: channel.deletedAt, received: received)
    }
}
