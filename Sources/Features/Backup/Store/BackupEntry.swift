public import LiveActivity

/// One entry of a backup: a part of an app's data in Redis.
public enum BackupEntry: Sendable, Hashable {
    /// The schema of an attributes type.
    case schema(type: String, document: [UInt8])
    case record(AppRecord, name: String, [UInt8])
    /// A name or an attributes type with start tokens. Its tokens follow. `meta` has fields of the name.
    case place(TokenPlace, buckets: Int, meta: [String: String])
    /// The broadcast channel of a name: the fields of its hash.
    case broadcast(ActivityName, [String: String])
    case tokens(TokenPlace, StoredTokens)
    case channel(StoredChannel)
    /// A schedule that waits: the fields of its hash.
    case schedule(PushID, [String: [UInt8]])
}

/// Registrations and tombstones of a place, as they are in Redis (`RegistryRecord`).
public struct StoredTokens: Sendable, Hashable {
    /// For each: length of the channel 1, channel in its stored form, length of the record 2, record.
    public private(set) var bytes: [UInt8] = []
    public private(set) var count = 0

    public init() {}

    /// Reads bytes that another process packed. Nil if they are none.
    public init?(bytes: [UInt8]) {
        self.bytes = bytes
        var offset = 0
        while offset < bytes.count {
            guard let next = Self.entry(bytes, offset)?.end else { return nil }
            offset = next
            count += 1
        }
    }

    mutating func append(_ channel: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        bytes.append(UInt8(channel.count))
        bytes.append(contentsOf: channel)
        bytes += [UInt8(value.count >> 8), UInt8(value.count & 0xFF)]
        bytes.append(contentsOf: value)
        count += 1
    }

    /// The channel and the record of each, in order.
    var entries: [(channel: [UInt8], value: [UInt8])] {
        var entries: [(channel: [UInt8], value: [UInt8])] = []
        entries.reserveCapacity(count)
        var offset = 0
        while let entry = Self.entry(bytes, offset) {
            entries.append((Array(bytes[entry.channel]), Array(bytes[entry.value])))
            offset = entry.end
        }
        return entries
    }

    private static func entry(
        _ bytes: [UInt8], _ offset: Int
    ) -> (channel: Range<Int>, value: Range<Int>, end: Int)? {
        guard offset < bytes.count else { return nil }
        let channel = offset + 1..<offset + 1 + Int(bytes[offset])
        guard !channel.isEmpty, channel.upperBound + 2 <= bytes.count else { return nil }
        let length = Int(bytes[channel.upperBound]) << 8 | Int(bytes[channel.upperBound + 1])
        let value = channel.upperBound + 2..<channel.upperBound + 2 + length
        return value.upperBound <= bytes.count ? (channel, value, value.upperBound) : nil
    }
}

/// A channel with its sets: tags, named user, iOS 18. Times are epoch ms.
public struct StoredChannel: Sendable, Hashable {
    public var channel: ChannelID
    public var created: Int64
    public var seen: Int64
    /// Fields of the channel's record, `t:GROUP:TAG` or `u:USER`, each part escaped.
    public var sets: [String]

    /// Nil if a text is no set.
    public init?(channel: ChannelID, created: Int64, seen: Int64, sets: [String]) {
        guard sets.allSatisfy({ $0.hasPrefix("t:") || $0.hasPrefix("u:") }) else { return nil }
        (self.channel, self.created, self.seen, self.sets) = (channel, created, seen, sets)
    }
}
