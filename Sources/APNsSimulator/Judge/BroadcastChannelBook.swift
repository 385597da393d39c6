/// The broadcast channels of all apps at APNs, each with what was broadcast on it.
struct BroadcastChannelBook: Sendable {
    struct Channel: Sendable {
        let id: String
        let bundleID: String
        /// `message-storage-policy` 1 keeps the newest message for up to 8 hours, and 0 keeps none.
        let storesNewest: Bool
        /// Milliseconds since 1970.
        let createdAt: Int
        /// When the channel was deleted. Nil while it exists.
        var deletedAt: Int?
        var received = Recorder.TokenRecord()
    }

    /// The channels by id. `order` has the ids in the order of creation. Both include deleted channels until
    /// `forgetReceived`.
    private(set) var channels: [String: Channel] = [:]
    private(set) var order: [String] = []

    static let idBytes = 16

    /// Creates a channel with a random id, because a channel of an earlier run must be unknown.
    mutating func create(bundleID: String, storesNewest: Bool, now: Int) -> Channel {
        let bytes = (0..<Self.idBytes).map { _ in UInt8.random(in: .min ... .max) }
        let channel = Channel(id: Base64.encode(bytes), bundleID: bundleID, storesNewest: storesNewest, createdAt: now)
        channels[channel.id] = channel
        order.append(channel.id)
        return channel
    }

    /// The app's channel of this id. Nil if it is deleted or belongs to another app.
    func find(_ id: String, bundleID: String) -> Channel? {
        channels[id].flatMap { $0.bundleID == bundleID && $0.deletedAt == nil ? $0 : nil }
    }

    /// Ids of the app's existing channels, oldest first.
    func all(bundleID: String) -> [String] { order.filter { find($0, bundleID: bundleID) != nil } }

    /// False if the channel does not exist or was deleted before.
    mutating func delete(_ id: String, now: Int) -> Bool {
        guard let channel = channels[id], channel.deletedAt == nil else { return false }
        channels[id]?.deletedAt = now
        return true
    }

    /// Lets `body` change the record of what a channel received.
    mutating func receive(_ id: String, _ body: (inout Recorder.TokenRecord) -> Void) {
        if let index = channels.index(forKey: id) { body(&channels.values[index].received) }
    }

    mutating func forgetReceived() {
        channels = channels.filter { $0.value.deletedAt == nil }
        order = order.filter { channels[$0] != nil }
        for id in order { channels[id]?.received = Recorder.TokenRecord() }
    }
}
