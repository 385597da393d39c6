import APNsWire
import Answers
import LiveActivity
import StrictJSON

/// The object `notification.ios`, with its `live_activity`.
enum LiveActivityBody: PlatformBody {
    static let platform = Platform.ios
    static let service = "APNs"
    static let member = (key: PushBlocks.key(platform), title: "Live Activities")
    static let options: [String] = []

    /// The most seconds that a publisher's clock may be ahead: devices would drop every later push until that time.
    static let maximumLead: Int64 = 300
    /// The most seconds for which Apple keeps an ended activity on the lock screen.
    static let maximumLinger = 4 * 3_600

    static let keys = [
        "name", "event", "content_state", "timestamp", "priority", "stale_date", "dismissal_date", "relevance_score",
        "alert", "attributes_type", "attributes",
    ]

    static func push(
        _ block: JSONObject, _ value: JSONValue, _ common: PublishBody.Common, warnings: inout [String]
    ) throws(JSONError) -> PublishBody.Push {
        let (now, body) = (common.now, try value.object(known: keys))
        let name = try body.required("name")
        let event = try body.required("event").activityEvent()
        var publish = Publish(
            name: try name.activityName(), event: event, audience: common.audience, options: common.options)
        if let priority = body["priority"] { publish.priority = try self.priority(priority) }
        publish.contentState = try body["content_state"]?.rawObject()
        if publish.contentState == nil, event != .end {
            throw body.missing("content_state", "is required for event \(event.rawValue)")
        }
        try times(body, now: now, into: &publish, warnings: &warnings)
        if let staleAfter = common.reading.staleAfter, publish.staleDate == nil, event != .end {
            publish.staleDate = Int(now) + staleAfter
        }
        if let score = body["relevance_score"] {
            _ = try score.double()
            publish.relevanceScore = RawJSON(checked: Array(score.raw))
        }
        if let alert = body["alert"] {
            publish.alert = try AlertBody.parse(alert, warnings: &warnings)
        } else if event == .start {
            throw body.missing("alert", "is required for event start")
        }
        try attributes(body, event: event, into: &publish)
        // Clamp: a clock that was never set must not crash the process. Redis's time is used in the end.
        let time = max(publish.timestamp ?? Int(now), Payload.timestampRange.lowerBound)
        let payload = Payload(publish, timestamp: time).bytes
        let oversize = payload.count > Payload.maximumBytes ? tooLarge(payload.count, publish, body) : nil
        if let oversize, payload.count > Payload.maximumBroadcastBytes || !publish.isForBroadcast { throw oversize }
        var push = PublishBody.Push(
            publish: publish, payload: payload, block: body, contentState: body["content_state"],
            attributes: body["attributes"], oversize: oversize)
        if common.reading.marks { try PushMark.add(to: &push, timestamp: time, warnings: &warnings) }
        return push
    }

    static func preview(
        _ push: PublishBody.Push, tokens: Int?, isForBroadcastAlone: Bool, now: Int64
    ) -> PlatformPreviewAnswer {
        let payload = Payload.stamped(push.payload, push.publish.timestamp ?? Int(now / 1_000))
        return PlatformPreviewAnswer(
            tokens: tokens, payloadBytes: push.payload.count,
            payloadLimit: isForBroadcastAlone ? Payload.maximumBroadcastBytes : Payload.maximumBytes,
            payload: RawJSON(checked: payload))
    }

    /// The payload says it all.
    static func posted(_ content: PlatformContent, _ name: ActivityName, _ event: ActivityEvent) -> JSON { .object([]) }

    static func token(_ body: JSONObject) throws(JSONError) -> (token: PushToken, address: PushToken?) {
        if let fid = body["fid"] { throw fid.keyError("needs the platform android") }
        return (try body.required("token").pushToken(), nil)
    }

    static func text(_ token: ArraySlice<UInt8>) -> (field: String, text: String)? { ("token", Hex.encode(token)) }

    private static func priority(_ value: JSONValue) throws(JSONError) -> PushPriority {
        let number = try value.integer()
        if let priority = Int(exactly: number).flatMap(PushPriority.init(rawValue:)) { return priority }
        throw value.error("must be 5 or 10, not \(number)")
    }

    private static func times(
        _ body: JSONObject, now: Int64, into publish: inout Publish, warnings: inout [String]
    ) throws(JSONError) {
        if let timestamp = body["timestamp"] { publish.timestamp = try timestamp.publishTime(now: now) }
        if let stale = body["stale_date"] {
            let seconds = try stale.epochSeconds()
            if seconds <= now {
                // Only warn: a publisher must be able to repeat a request with its Idempotency-Key after this date.
                let effect =
                    publish.event == .start
                    ? "no card appears, so nothing will be sent" : "devices show the state as stale at once"
                warnings.append("\(stale.path) is in the past: \(effect)")
            }
            publish.staleDate = seconds
        }
        if let dismissal = body["dismissal_date"] {
            // Apple takes any time in the past as "now", and many publishers write 0.
            let number = dismissal.kind == .number ? try dismissal.integer() : nil
            publish.dismissalDate = number == 0 ? 0 : try dismissal.epochSeconds()
            if publish.event != .end { warnings.append("\(dismissal.path) has an effect with event end only") }
            if let date = publish.dismissalDate, date > Int(now) + maximumLinger {
                warnings.append(
                    "\(dismissal.path) is more than 4 h ahead: the system takes an ended activity away after 4 h")
            }
        }
    }

    private static func attributes(
        _ body: JSONObject, event: ActivityEvent, into publish: inout Publish
    ) throws(JSONError) {
        for key in ["attributes_type", "attributes"] {
            let value = body[key]
            if event == .start, value == nil { throw body.missing(key, "is required for event start") }
            if event != .start, let value { throw value.keyError("is allowed with event start only") }
        }
        guard let type = body["attributes_type"], let attributes = body["attributes"] else { return }
        publish.attributesType = try type.attributesType()
        publish.attributes = try attributes.rawObject()
    }

    private static func tooLarge(_ size: Int, _ publish: Publish, _ body: JSONObject) -> JSONError {
        // Report the largest part, because that is the one to shorten.
        let parts = ["content_state", "attributes", "alert"].compactMap { body[$0] }
        let largest = parts.max { $0.raw.count < $1.raw.count } ?? body.value
        let broadcast = ", or \(Payload.maximumBroadcastBytes) for a name with a broadcast channel"
        let limit = "Apple's limit is \(Payload.maximumBytes)\(publish.isForBroadcast ? broadcast : "")"
        return largest.error("makes the APNs payload \(size) bytes; \(limit) (this value: \(largest.raw.count) bytes)")
    }
}

extension JSONValue {
    func activityEvent() throws(JSONError) -> ActivityEvent {
        let text = try string()
        if let event = ActivityEvent(rawValue: text) { return event }
        throw error("must be start, update or end\(ActivityEvent.allCases.map(\.rawValue).suggestion(for: text))")
    }

    /// A publisher's `timestamp`, epoch seconds.
    func publishTime(now: Int64) throws(JSONError) -> Int {
        let seconds = try epochSeconds()
        guard seconds <= now + LiveActivityBody.maximumLead else {
            throw error(
                "must not be more than \(LiveActivityBody.maximumLead) s ahead; it is \(seconds - Int(now)) s ahead")
        }
        return seconds
    }
}

/// `alert`: {title, body, sound}. Title and body are text, or a key of the app's strings with arguments.
private enum AlertBody {
    /// Returns the object as written, after checking that it is well-formed.
    static func parse(_ value: JSONValue, warnings: inout [String]) throws(JSONError) -> RawJSON {
        let alert = try value.object(known: ["title", "body", "sound"])
        for text in ["title", "body"].compactMap({ alert[$0] }) { try check(text) }
        if let sound = alert["sound"] { _ = try sound.string() }
        // An empty text is two bytes long: its quotes.
        if (alert["title"]?.raw.count ?? 0) <= 2 {
            warnings.append("\(value.path) has no title: ActivityKit ignores such an alert, its sound too")
        }
        return RawJSON(checked: Array(value.raw))
    }

    private static func check(_ value: JSONValue) throws(JSONError) {
        switch value.kind {
        case .string: break
        case .object:
            let localized = try value.object(known: ["loc-key", "loc-args"])
            _ = try localized.required("loc-key").string()
            guard let arguments = localized["loc-args"] else { return }
            for argument in try arguments.array() { _ = try argument.string() }
        default: throw value.mismatch("a string, or an object with `loc-key` and `loc-args`")
        }
    }
}

/// Adds the push mark, which receipts need, to a push whose app takes receipts.
private enum PushMark {
    /// Adds the mark to the payload. If it has no room, or if the publisher uses its name, the push goes out without it
    /// and with a warning: receipts must not make a publish fail that would pass without them.
    /// - Parameter timestamp: epoch seconds, in `Payload.timestampRange`
    static func add(
        to push: inout PublishBody.Push, timestamp: Int, warnings: inout [String]
    ) throws(JSONError) {
        guard let value = push.contentState, let contentState = push.publish.contentState else { return }
        guard try value.object()[Payload.pushMark] == nil else {
            warnings.append("\(value.path).\(Payload.pushMark) is not the push's mark: this push gets no receipts")
            return
        }
        var marked = push.publish
        marked.contentState = Payload.withMark(contentState)
        let payload = Payload(marked, timestamp: timestamp).bytes
        let limit = push.oversize == nil ? Payload.maximumBytes : Payload.maximumBroadcastBytes
        guard payload.count <= limit else {
            warnings.append(
                "\(value.path) leaves no room for the push's mark (\(payload.count - push.payload.count) bytes, limit "
                    + "\(limit)): this push gets no receipts")
            return
        }
        push.payload = payload
        push.isMarked = true
    }
}
