public import LiveActivity
import Redis
public import StoreGround

extension Channels {
    private static let fieldsAtOnce = 500

    /// - Returns: the channel's named user; nil if it has none, or is not known.
    public func namedUser(_ app: AppKey, _ channel: ChannelID) async throws(StoreError) -> String? {
        let key = keys.channel(app, channel)
        var cursor = "0"
        var user: String?
        repeat {
            let reply = try await redis.run(
                "HSCAN", key, .string(cursor), "MATCH", "u:*", "COUNT", .int(Self.fieldsAtOnce))
            cursor = try reply[0].string()
            for (field, value) in try reply[1].pairs() {
                let state = try value.string()
                // A user that the channel leaves does not count. A user that it joins comes before one that it has.
                guard state != "-", user == nil || state == "+" else { continue }
                user = try field.string().rest(behind: "u:")?.percentDecoded
            }
        } while cursor != "0"
        return user
    }
}
