/// A late joiner: a channel that began to follow and gets the state that it missed.
public struct LateJoiner: Sendable, Hashable {
    public let channel: [UInt8]
    /// The sweeps of pushes up to this sequence number missed the channel. Later sweeps find it.
    public let upTo: Int
    /// Sequence number of the start that created the card; pushes up to it are not for it. 0: it asked for the state.
    public let after: Int
    /// The bytes in Redis. A decision counts only while they are the same.
    let value: [UInt8]
    public var wasStarted: Bool { after > 0 }

    init?(channel: [UInt8], value: [UInt8]) {
        let numbers = String(decoding: value, as: UTF8.self).split(separator: " ").compactMap { Int($0) }
        guard numbers.count == 2 else { return nil }
        self.channel = channel
        (upTo, after) = (numbers[0], numbers[1])
        self.value = value
    }
}
