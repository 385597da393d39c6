import APNsWire
import FCMWire
import LiveActivity
import StrictJSON

/// The object `notification.android`, with its `live_update`.
enum LiveUpdateBody {
    /// The bytes of the data beside name, type and content state, at most: four keys and ids, and the names of members.
    private static let frame = 496

    private static let keys = ["name", "event", "type", "content_state", "timestamp", "dismissal_date"]
    private static let own = ["live_update", "collapse_key", "delivery_priority", "time_to_live"]

    struct Update: Sendable {
        var publish: Publish
        var contentState: JSONValue?
        /// The object as written.
        var value: JSONValue
    }

    /// Reads the object.
    /// - Parameters:
    ///   - now: epoch seconds
    ///   - staleAfter: seconds after which the content state of a start or an update is out of date
    /// - Returns: nil if it has no Live Update
    static func parse(
        _ value: JSONValue, audience: Audience, options: PublishOptions, now: Int64, staleAfter: Int?,
        warnings: inout [String]
    ) throws(JSONError) -> Update? {
        let android = try value.object()
        try ForeignKey.check(android, own: own, ForeignAPI.keys(.android), warnings: &warnings)
        guard let updateValue = android["live_update"] else { return nil }
        let body = try updateValue.object(known: keys)
        let event = try body.required("event").activityEvent()
        var publish = Publish(
            name: try body.required("name").activityName(), event: event, audience: audience, options: options)
        // Airship's default.
        publish.priority = .low
        if let priority = android["delivery_priority"] { publish.priority = try self.priority(priority) }
        var content = PlatformContent()
        content.type = try body["type"]?.text("type")
        if event == .start, content.type == nil { throw body.missing("type", "is required for event start") }
        content.contentState = try body["content_state"]?.rawObject()
        if content.contentState == nil, event != .end {
            throw body.missing("content_state", "is required for event \(event.rawValue)")
        }
        content.collapseKey = try android["collapse_key"]?.text("collapse_key")
        if let timestamp = body["timestamp"] { publish.timestamp = try timestamp.publishTime(now: now) }
        if let date = body["dismissal_date"] {
            // 0 is "now", as in a Live Activity.
            let number = date.kind == .number ? try date.integer() : nil
            content.dismissalDate = number == 0 ? Int(now) : try date.epochSeconds()
        }
        if let staleAfter, event != .end { content.staleDate = Int(now) + staleAfter }
        if let time = android["time_to_live"] { publish.options.expiry = try expiry(time, options, now: now) }
        publish.contentState = content.contentState
        publish.contents = [.android: content]
        let size =
            frame + publish.name.rawValue.utf8.count + (content.type?.utf8.count ?? 0)
            + (content.contentState?.bytes.count ?? 0)
        guard size <= FCMMessage.maximumData else {
            throw (body["content_state"] ?? updateValue).error(
                "makes FCM's message \(size) bytes; Google's limit is \(FCMMessage.maximumData)")
        }
        return Update(publish: publish, contentState: body["content_state"], value: updateValue)
    }

    private static func priority(_ value: JSONValue) throws(JSONError) -> PushPriority {
        switch try value.string() {
        case "high": return .high
        case "normal": return .low
        case let text: throw value.error("must be high or normal\(["high", "normal"].suggestion(for: text))")
        }
    }

    /// `time_to_live`: seconds, or a time. `options.expiry` wins.
    private static func expiry(_ value: JSONValue, _ options: PublishOptions, now: Int64) throws(JSONError) -> Int? {
        let seconds = try value.integer()
        guard (0...2_419_200).contains(seconds) else {
            throw value.error("must be 0 to 2,419,200 seconds, which is four weeks")
        }
        return options.expiry ?? (seconds == 0 ? 0 : Int(now + seconds))
    }
}

extension PublishBody.Push {
    /// A push for Android alone.
    init(_ update: LiveUpdateBody.Update, now: Int64) {
        let time = max(update.publish.timestamp ?? Int(now), Payload.timestampRange.lowerBound)
        self.init(
            publish: update.publish, payload: Payload(update.publish, timestamp: time).bytes,
            contentState: update.contentState)
    }

    /// Adds Android's part of the same push: it has one name, one event, one time and one priority.
    mutating func add(_ update: LiveUpdateBody.Update) throws(JSONError) {
        let body = try update.value.object()
        if update.publish.event != publish.event {
            throw try body.required("event").error(
                "must be \(publish.event.rawValue), as that of the Live Activity with the same name")
        }
        if let time = update.publish.timestamp, time != publish.timestamp ?? time {
            throw try body.required("timestamp").error("must be that of the Live Activity with the same name")
        }
        publish.timestamp = publish.timestamp ?? update.publish.timestamp
        publish.options.expiry = publish.options.expiry ?? update.publish.options.expiry
        var content = update.publish.contents[.android]
        content?.staleDate = publish.event == .end ? nil : publish.staleDate
        publish.contents[.android] = content
    }
}
