public import LiveActivity
import Redis
public import StoreGround

/// A channel as Lamplighter knows it. Times are epoch ms.
public struct ChannelRecord: Sendable, Hashable {
    public var created: Int64?
    /// When a call last named it.
    public var seen: Int64?
    /// Tags by group, each in byte order; Airship's ungrouped ones are group `device`.
    public var tags: [ExactText: [String]] = [:]
    public var namedUser: String?
    public var hasIOS18 = false

    /// Reads the answer to HGETALL.
    init(_ reply: Reply) throws(StoreError) {
        for (field, value) in try reply.pairs() {
            let (field, value) = (try field.string(), try value.string())
            switch field {
            case "created": created = Int64(value)
            case "seen": seen = Int64(value)
            // A set that the channel leaves does not count.
            case _ where value.hasPrefix("-"): break
            default:
                guard let parts = field.cut(at: UInt8(ascii: ":")) else { break }
                if parts.head == "u" { namedUser = parts.tail.percentDecoded }
                if parts.head == "t" { addTag(parts.tail) }
            }
        }
        for group in tags.keys { tags[group]?.sort { $0.utf8.lexicographicallyPrecedes($1.utf8) } }
    }

    /// - Parameter text: group and tag, each escaped
    private mutating func addTag(_ text: String) {
        if "t:\(text)" == Keyspace.field(.iOS18) {
            hasIOS18 = true
            return
        }
        guard let parts = text.cut(at: UInt8(ascii: ":")), let group = parts.head.percentDecoded,
            let tag = parts.tail.percentDecoded
        else { return }
        tags[ExactText(group), default: []].append(tag)
    }
}

extension Channels {
    private static let fieldsAtOnce = 500

    /// Nil for a channel that no call has named, or that has expired.
    public func record(_ app: AppKey, _ channel: ChannelID) async throws(StoreError) -> ChannelRecord? {
        let reply = try await redis.run("HGETALL", keys.channel(app, channel))
        return reply.count == 0 ? nil : try ChannelRecord(reply)
    }

    /// - Returns: the channel's named user; nil if it has none, or is not known.
    public func namedUser(_ app: AppKey, _ channel: ChannelID) async throws(StoreError) -> String? {
        let key = keys.channel(app, channel)
        var user: String?
        try await redis.eachPart("HSCAN", key, "MATCH", "u:*", "COUNT", .int(Self.fieldsAtOnce)) {
            part throws(StoreError) in
            for (field, value) in try part.pairs() {
                let state = try value.string()
                // A user that the channel leaves does not count. A user that it joins comes before one that it has.
                guard state != "-", user == nil || state == "+" else { continue }
                user = try field.string().rest(behind: "u:")?.percentDecoded
            }
        }
        return user
    }
}
