public import LiveActivity
import StoreGround

/// A late joiner: a channel that began to follow and gets the state that it missed.
public struct LateJoiner: Sendable, Hashable {
    public let channel: [UInt8]
    /// The sweeps of pushes up to this sequence number missed the channel. Later sweeps find it.
    public let upTo: Int
    /// Sequence number of the start that created the card; pushes up to it are not for it. 0: it asked for the state.
    public let after: Int
    /// The last push of the channel's retry queue when its card began. The queue brings it to the card.
    public let waitsFor: PushID?
    /// The bytes in Redis. A decision counts only while they are the same.
    package let value: [UInt8]
    public var wasStarted: Bool { after > 0 }

    /// Reads a note of `registry-set`. One of an earlier version has the two numbers alone, and earlier versions skip
    /// the words behind these, because none is a number.
    init?(channel: [UInt8], value: [UInt8]) {
        let words = String(decoding: value, as: UTF8.self).split(separator: " ")
        guard words.count >= 2, let upTo = StoredNumber.read(words[0]),
            let after = StoredNumber.read(words[1])
        else { return nil }
        self.channel = channel
        (self.upTo, self.after) = (upTo, after)
        waitsFor = words.dropFirst(3).first.flatMap { PushID(String($0)) }
        self.value = value
    }
}
