import LiveActivity
import Store
import StrictJSON

/// One channel that follows a name: the body of a single call, or one line of the bulk call.
enum TrackBody {
    /// A registration, and the address of its channel where the body gives one.
    struct Tracked: Sendable {
        var registration: Registration
        var address: PushToken?
    }

    private static let keys = [
        "token", "fid", "platform", "registered_at_ms", "started_at_ms", "activity_id", "frequent_pushes_enabled",
        "options",
    ]

    /// `{"token":hex,"registered_at_ms"?,"started_at_ms"?,"activity_id"?,"frequent_pushes_enabled"?,"options"?}`. With
    /// `"platform":"android"` the token is FCM's, or there is a `fid` in its place, or neither for a channel whose
    /// address is known.
    /// - Parameters:
    ///   - channel: the channel that the path names. Nil for a line, which has the key `channel`.
    ///   - isStart: whether the token is a push-to-start token.
    ///   - now: epoch milliseconds.
    ///   - platforms: of the app.
    ///   - catchesUp: the value if `options.catch_up` is absent. It has no effect on a push-to-start token.
    static func read(
        _ bytes: [UInt8], channel: ChannelID?, isStart: Bool = false, now: Int64, catchesUp: Bool = false,
        platforms: Set<Platform> = [.ios]
    ) throws(JSONError) -> Tracked {
        // A push-to-start token belongs to no activity.
        let known = (channel == nil ? ["channel"] : []) + (isStart ? ["token", "registered_at_ms"] : keys)
        let body = try JSONDocument(bytes).root.object(known: known)
        let channel = if let channel { channel } else { try body.required("channel").channelID() }
        let platform = try body["platform"]?.platform() ?? .ios
        guard platforms.contains(platform) else {
            if isStart { throw try body.required("token").unsent(to: "iOS") }
            let names = Platform.all.filter(platforms.contains).map(\.name).joined(separator: " or ")
            let problem = "must be \(names): this app sends to no other platform"
            throw body["platform"]?.error(problem) ?? body.missing("platform", problem)
        }
        let (token, address) = try platform.body.token(body)
        let registered = try body["registered_at_ms"]?.epochMilliseconds() ?? now
        let started = try body["started_at_ms"]?.startMilliseconds(after: now, "now")
        let id = try body["activity_id"]?.text("activity_id")
        let frequent = try body["frequent_pushes_enabled"]?.bool()
        let options = try body["options"]?.object(known: ["catch_up"])
        let registration = Registration(
            channel: channel, token: token, registeredAt: registered, startedAt: started, activityID: id,
            frequentPushesEnabled: frequent, wantsState: try options?["catch_up"]?.bool() ?? (catchesUp && !isStart))
        return Tracked(registration: registration, address: address)
    }

    /// Why a registration without an address is refused.
    static let noAddress =
        "is required, or `fid`: the channel has no address yet. Give FCM's registration token once for all names"
}
