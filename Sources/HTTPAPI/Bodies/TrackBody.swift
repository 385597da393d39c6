import LiveActivity
import Store
import StrictJSON

/// One channel that follows a name: the body of a single call, or one line of the bulk call.
enum TrackBody {
    private static let keys = [
        "token", "registered_at_ms", "started_at_ms", "activity_id", "frequent_pushes_enabled", "options",
    ]

    /// `{"token":hex,"registered_at_ms"?,"started_at_ms"?,"activity_id"?,"frequent_pushes_enabled"?,"options"?}`
    /// - Parameters:
    ///   - channel: the channel that the path names. Nil for a line, which has the key `channel`.
    ///   - isStart: whether the token is a push-to-start token.
    ///   - now: epoch milliseconds.
    ///   - catchesUp: the value if `options.catch_up` is absent. It has no effect on a push-to-start token.
    static func read(
        _ bytes: [UInt8], channel: ChannelID?, isStart: Bool = false, now: Int64, catchesUp: Bool = false
    ) throws(JSONError) -> Registration {
        // A push-to-start token belongs to no activity.
        let known = (channel == nil ? ["channel"] : []) + (isStart ? ["token", "registered_at_ms"] : keys)
        let body = try JSONDocument(bytes).root.object(known: known)
        let channel = if let channel { channel } else { try body.required("channel").channelID() }
        let token = try body.required("token").pushToken()
        let registered = try body["registered_at_ms"]?.epochMilliseconds() ?? now
        let started = try body["started_at_ms"]?.startMilliseconds(after: now, "now")
        let id = try body["activity_id"]?.text("activity_id")
        let frequent = try body["frequent_pushes_enabled"]?.bool()
        let options = try body["options"]?.object(known: ["catch_up"])
        return Registration(
            channel: channel, token: token, registeredAt: registered, startedAt: started, activityID: id,
            frequentPushesEnabled: frequent, wantsState: try options?["catch_up"]?.bool() ?? (catchesUp && !isStart))
    }
}
