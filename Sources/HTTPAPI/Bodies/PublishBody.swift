import APNsWire
public import LiveActivity
public import StrictJSON

/// The body of a publish: one push object or an array of them, checked as a whole before anything is written.
enum PublishBody {
    /// Airship's limit of pushes in one request.
    static let maximumPushes = 100

    struct Push: Sendable {
        var publish: Publish
        var payload: [UInt8]
        /// Parts that may not do what the publisher expects. The response shows them.
        var warnings: [String] = []
        /// The value as written in the body, for the check against its schema.
        var contentState: JSONValue?
        var attributes: JSONValue?
        /// The whole push object, as written.
        var posted: JSONValue?
        /// Set if the payload is too large for tokens but not for a broadcast channel.
        var oversize: JSONError?
        /// The payload has a push mark, without an id yet.
        var isMarked = false

        func payload(for id: PushID) -> [UInt8] {
            isMarked ? Payload.marked(payload, publish.event, with: id) : payload
        }
    }

    /// `now` is in epoch milliseconds, `staleAfter` in seconds to the `stale_date` of starts and updates without one.
    /// `marks` says whether content states get a push mark.
    static func parse(
        _ bytes: [UInt8], now: Int64, staleAfter: Int? = nil, marks: Bool = false
    ) throws(JSONError) -> [Push] {
        try JSONDocument(bytes).root.oneOrMore(atMost: maximumPushes, ("push", "pushes"))
            .map { value throws(JSONError) in try push(value, now: now / 1_000, staleAfter: staleAfter, marks: marks) }
    }

    /// Reads one push object. `now` is the time of its sending, in epoch seconds.
    static func push(
        _ value: JSONValue, now: Int64, staleAfter: Int? = nil, marks: Bool = false
    ) throws(JSONError) -> Push {
        guard value.kind == .object else { throw value.mismatch("a push object") }
        let body = try value.object()
        var warnings: [String] = []
        try ForeignKey.check(body, own: pushKeys, ForeignAPI.keys(.push), warnings: &warnings)
        let audience = try AudienceBody.parse(body.required("audience"), warnings: &warnings)
        try deviceTypes(body.required("device_types"))
        let notification = try body.required("notification").object()
        try ForeignKey.check(notification, own: ["ios"], ForeignAPI.keys(.notification), warnings: &warnings)
        let ios = try notification.required("ios").object()
        try ForeignKey.check(ios, own: ["live_activity"], ForeignAPI.keys(.ios), warnings: &warnings)
        guard let activityValue = ios["live_activity"] else {
            throw ios.missing("live_activity", "is required: Lamplighter sends Live Activities only")
        }
        let options = try body["options"]?.object()
        var publishOptions = PublishOptions()
        if let options { publishOptions = try self.options(options, now: now, warnings: &warnings) }
        var push = try LiveActivityBody.parse(
            activityValue, audience: audience, options: publishOptions, now: now, staleAfter: staleAfter, marks: marks,
            warnings: &warnings)
        let whole = ForeignAPI.Push(body: body, notification: notification, activity: try activityValue.object())
        for api in ForeignAPI.ofFeatures { try api.check(whole, &warnings) }
        for key in ["restart", "respect_dismissal"] where push.publish.event != .start {
            if let value = options?[key] { throw value.keyError("is allowed with event start only") }
        }
        push.warnings = warnings
        push.posted = value
        return push
    }

    private static let pushKeys = ["audience", "device_types", "notification", "options"]
    private static let optionKeys = ["after", "conflate", "expiry", "insist", "respect_dismissal", "restart", "trace"]

    /// The values that `device_types` may hold.
    private static let platforms = ["ios", "android", "amazon", "web", "email", "sms", "mms", "wns"]

    /// `all`, `ios`, or a list of platforms that includes `ios`.
    private static func deviceTypes(_ value: JSONValue) throws(JSONError) {
        guard value.kind == .array || value.kind == .string else {
            throw value.mismatch("a list of device types, or the string `all`")
        }
        var includesIOS = false
        for entry in value.kind == .array ? try value.array() : [value] {
            let text = try entry.string()
            includesIOS = includesIOS || text == "ios" || text == "all"
            guard platforms.contains(text) || text == "all" || text.rest(behind: "open::") != nil else {
                throw entry.error("is not a known device type\(platforms.suggestion(for: text))")
            }
        }
        guard includesIOS else { throw value.error("must include `ios`, or be `all`: Lamplighter sends to iOS only") }
    }

    private static func options(
        _ object: JSONObject, now: Int64, warnings: inout [String]
    ) throws(JSONError) -> PublishOptions {
        try ForeignKey.check(object, own: optionKeys, ForeignAPI.keys(.options), warnings: &warnings)
        var options = PublishOptions()
        if let after = object["after"] { options.after = try after.afterPush() }
        if let conflate = object["conflate"] { options.conflate = try conflate.bool() }
        if let insist = object["insist"] { options.insist = try insist.bool() }
        if let restart = object["restart"] { options.restart = try restart.bool() }
        if let respects = object["respect_dismissal"] { options.respectDismissal = try respects.bool() }
        if let trace = object["trace"] { options.trace = try trace.channelID() }
        if let expiry = object["expiry"] {
            options.expiry = Int(try self.expiry(expiry, now: now))
            // Only warn: a publisher must be able to repeat a request with its Idempotency-Key after the expiry.
            if let at = options.expiry, at != 0, at <= now {
                warnings.append("\(expiry.path) is in the past: nothing will be sent")
            }
        }
        return options
    }

    /// Reads seconds from now (below 1,000,000,000), epoch seconds, or `2026-11-21T18:00:00`. 0 means try once.
    private static func expiry(_ value: JSONValue, now: Int64) throws(JSONError) -> Int64 {
        if value.kind == .string {
            if let milliseconds = TimeText.parse(try value.string()) { return milliseconds / 1_000 }
            throw value.error("must be seconds from now, epoch seconds, or a UTC time such as 2026-11-21T18:00:00")
        }
        let seconds = try value.integer()
        switch seconds {
        case 0: return 0
        case 1..<Int64(Payload.timestampRange.lowerBound): return now + seconds
        default: return Int64(try value.epochSeconds())
        }
    }
}

/// A publish as the gateway would accept it, for a command that sends it without a gateway.
public struct RenderedPublish: Sendable {
    public var publish: Publish
    /// The APNs payload, with the present time if the body has none.
    public var payload: [UInt8]
    public var warnings: [String]

    /// Reads the body of one push, as `POST /api/push` takes it.
    /// - Parameter now: epoch milliseconds
    /// - Throws: also for a payload that is too large for a token
    public init(_ bytes: [UInt8], now: Int64) throws(JSONError) {
        let push = try PublishBody.push(JSONDocument(bytes).root, now: now / 1_000)
        if let oversize = push.oversize { throw oversize }
        (publish, payload, warnings) = (push.publish, push.payload, push.warnings)
    }
}
