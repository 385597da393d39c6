import LiveActivity
import Store
import StrictJSON

/// One channel that follows a name: the body of a single call, or one line of the bulk call.
enum TrackBody {
    private static let keys = [
        "token", "registered_at_ms", "started_at_ms", "activity_id", "frequent_pushes_enabled", "options",
    ]
    /// The keys for a push-to-start token, which belongs to no activity.
    private static let startKeys = ["token", "registered_at_ms"]

    /// `{"token":hex,"registered_at_ms"?,"started_at_ms"?,"activity_id"?,"frequent_pushes_enabled"?,"options"?}`
    ///
    /// - Parameters:
    ///   - bytes: the body.
    ///   - channel: the channel that the path names.
    ///   - isStart: whether the token is a push-to-start token.
    ///   - now: epoch milliseconds.
    ///   - catchesUp: the value if `options.catch_up` is absent. It has no effect on a push-to-start token.
    static func single(
        _ bytes: [UInt8], channel: ChannelID, isStart: Bool = false, now: Int64, catchesUp: Bool = false
    ) throws(JSONError) -> Registration {
        let body = try JSONDocument(bytes).root.object()
        try body.refuseUnknownKeys(known: isStart ? startKeys : keys)
        return try registration(body, channel: channel, now: now, catchesUp && !isStart)
    }

    /// The same with the key `"channel"`.
    static func line(
        _ bytes: [UInt8], isStart: Bool = false, now: Int64, catchesUp: Bool = false
    ) throws(JSONError) -> Registration {
        let body = try JSONDocument(bytes).root.object()
        try body.refuseUnknownKeys(known: ["channel"] + (isStart ? startKeys : keys))
        return try registration(body, channel: body.required("channel").channelID(), now: now, catchesUp && !isStart)
    }

    private static func registration(
        _ body: JSONObject, channel: ChannelID, now: Int64, _ catchesUp: Bool
    ) throws(JSONError) -> Registration {
        let token = try body.required("token").pushToken()
        let registered = try body["registered_at_ms"]?.epochMilliseconds() ?? now
        let started = try body["started_at_ms"]?.startMilliseconds(after: now, "now")
        let id = try body["activity_id"]?.text("activity_id")
        let frequent = try body["frequent_pushes_enabled"]?.bool()
        let options = try body["options"]?.object()
        try options?.refuseUnknownKeys(known: ["catch_up"])
        return Registration(
            channel: channel, token: token, registeredAt: registered, startedAt: started, activityID: id,
            frequentPushesEnabled: frequent, wantsState: try options?["catch_up"]?.bool() ?? catchesUp)
    }
}
