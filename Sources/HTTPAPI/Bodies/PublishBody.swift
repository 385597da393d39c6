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
        /// The object with its name and event.
        var block: JSONObject
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

        /// As the store keeps it.
        func payload(for id: PushID) -> [UInt8] {
            let payload = isMarked ? Payload.marked(payload, publish.event, with: id) : payload
            return PushContent(payload: payload, contents: publish.contents).stored
        }

        /// Adds another platform's part of the same push: it has one name, one event, one time and one priority.
        mutating func add(_ other: Push) throws(JSONError) {
            if other.publish.event != publish.event {
                throw try other.block.required("event").error(
                    "must be \(publish.event.rawValue), as that of the Live Activity with the same name")
            }
            if let time = other.publish.timestamp, time != publish.timestamp ?? time {
                throw try other.block.required("timestamp").error(
                    "must be that of the Live Activity with the same name")
            }
            publish.timestamp = publish.timestamp ?? other.publish.timestamp
            publish.options.expiry = publish.options.expiry ?? other.publish.options.expiry
            for (platform, content) in other.publish.contents {
                publish.contents[platform] = content
                publish.contents[platform]?.staleDate = publish.event == .end ? nil : publish.staleDate
            }
        }
    }

    /// The parts of a push object that all of its platforms share.
    struct Common {
        var audience: Audience
        var options: PublishOptions
        /// Epoch seconds.
        var now: Int64
        var reading: Reading
    }

    /// The app and the rules that a body is read for.
    struct Reading {
        /// The platforms of the app.
        var platforms: Set<Platform> = [.ios]
        /// Seconds to the `stale_date` of starts and updates without one.
        var staleAfter: Int?
        /// Whether content states get a push mark.
        var marks = false
    }

    /// `now` is in epoch milliseconds. A body with a name for each platform is two pushes.
    static func parse(_ bytes: [UInt8], now: Int64, _ reading: Reading = Reading()) throws(JSONError) -> [Push] {
        let pushes = try JSONDocument(bytes).root.oneOrMore(atMost: maximumPushes, ("push", "pushes"))
            .map { value throws(JSONError) in try self.pushes(value, now: now / 1_000, reading) }
        return pushes.flatMap { $0 }
    }

    /// Reads one push object, which must be one push. `now` is the time of its sending, in epoch seconds.
    static func push(_ value: JSONValue, now: Int64, _ reading: Reading = Reading()) throws(JSONError) -> Push {
        let pushes = try self.pushes(value, now: now, reading)
        guard pushes.count == 1 else {
            throw value.error("must have one name: give each platform's name a push of its own")
        }
        return pushes[0]
    }

    private static func pushes(_ value: JSONValue, now: Int64, _ reading: Reading) throws(JSONError) -> [Push] {
        guard value.kind == .object else { throw value.mismatch("a push object") }
        let body = try value.object()
        var warnings: [String] = []
        try ForeignKey.check(body, own: pushKeys, ForeignAPI.keys(.push), warnings: &warnings)
        let audience = try AudienceBody.parse(body.required("audience"), reading.platforms, warnings: &warnings)
        let types = try deviceTypes(body.required("device_types"), reading.platforms)
        let notification = try body.required("notification").object()
        let blocks = Platform.all.map(\.name)
        try ForeignKey.check(notification, own: blocks, ForeignAPI.keys(.notification), warnings: &warnings)
        let options = try body["options"]?.object()
        var publishOptions = PublishOptions()
        if let options { publishOptions = try self.options(options, now: now, warnings: &warnings) }

        let common = Common(audience: audience, options: publishOptions, now: now, reading: reading)
        var pushes: [Push] = []
        for form in Platform.bodies where types.contains(form.platform) {
            let (name, member) = (form.platform.name, form.member)
            let written = types.count == 1 ? try notification.required(name) : notification[name]
            guard let block = try written?.object() else { continue }
            let own = [member.key] + form.options
            try ForeignKey.check(block, own: own, ForeignAPI.keys(.block(form.platform)), warnings: &warnings)
            guard let value = block[member.key] else {
                // Another platform may have the push.
                guard pushes.isEmpty else { continue }
                throw block.missing(member.key, "is required: Lamplighter sends \(member.title) only")
            }
            let push = try form.push(block, value, common, warnings: &warnings)
            let whole = ForeignAPI.Push(body: body, notification: notification, activity: push.block)
            for api in ForeignAPI.ofFeatures { try api.check(whole, &warnings) }
            if pushes.first?.publish.name == push.publish.name {
                try pushes[0].add(push)
            } else {
                pushes.append(push)
            }
        }
        for platform in Platform.all where !types.contains(platform) {
            guard let block = notification[platform.name], block.asksForSomething else { continue }
            warnings.append("\(block.path) \(ForeignKey.notSentReason)")
        }
        guard let first = pushes.first else { throw notification.missing("ios", "or `android` is required") }
        for key in ["restart", "respect_dismissal"] where first.publish.event != .start {
            if let value = options?[key] { throw value.keyError("is allowed with event start only") }
        }
        for index in pushes.indices {
            pushes[index].publish.audience = audience.on(Set(pushes[index].publish.platforms), of: reading.platforms)
            pushes[index].posted = value
        }
        pushes[0].warnings = warnings
        return pushes
    }

    private static let pushKeys = ["audience", "device_types", "notification", "options"]
    private static let optionKeys = ["after", "conflate", "expiry", "insist", "respect_dismissal", "restart", "trace"]

    /// The values that `device_types` may hold.
    private static let platforms = ["ios", "android", "amazon", "web", "email", "sms", "mms", "wns"]

    /// `all`, or a list of platforms that includes one of the app's.
    /// - Returns: the platforms of the app that are meant
    private static func deviceTypes(
        _ value: JSONValue, _ ofApp: Set<Platform>
    ) throws(JSONError) -> Set<Platform> {
        guard value.kind == .array || value.kind == .string else {
            throw value.mismatch("a list of device types, or the string `all`")
        }
        var found: Set<Platform> = []
        for entry in value.kind == .array ? try value.array() : [value] {
            let text = try entry.string()
            if text == "all" { found = ofApp }
            if let platform = Platform(name: text) { found.insert(platform) }
            guard platforms.contains(text) || text == "all" || text.rest(behind: "open::") != nil else {
                throw entry.error("is not a known device type\(platforms.suggestion(for: text))")
            }
        }
        guard !found.isDisjoint(with: ofApp) else {
            let names = Platform.all.filter(ofApp.contains).map { "`\($0)`" }.joined(separator: " or ")
            throw value.error("must include \(names), or be `all`: this app sends to no other platform")
        }
        return found.intersection(ofApp)
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
