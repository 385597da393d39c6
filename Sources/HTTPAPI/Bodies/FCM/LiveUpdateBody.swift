import APNsWire
import Answers
import FCMWire
import LiveActivity
import StrictJSON

/// The object `notification.android`, with its `live_update`.
enum LiveUpdateBody: PlatformBody {
    static let platform = Platform.android
    static let service = "FCM"
    static let member = (key: PushBlocks.key(platform), title: "Live Updates")
    static let options = ["collapse_key", "deliver_to", "delivery_priority", "time_to_live"]

    /// The bytes of the data beside name, type and content state, at most: four keys and ids, and the names of members.
    private static let frame = 496

    private static let keys = ["name", "event", "type", "content_state", "timestamp", "dismissal_date"]

    static func push(
        _ block: JSONObject, _ value: JSONValue, _ common: PublishBody.Common, warnings: inout [String]
    ) throws(JSONError) -> PublishBody.Push {
        let (now, body) = (common.now, try value.object(known: keys))
        let event = try body.required("event").activityEvent()
        var publish = Publish(
            name: try body.required("name").activityName(), event: event, audience: common.audience,
            options: common.options)
        // Airship's default.
        publish.priority = .low
        if try block["delivery_priority"]?.choice(["high", "normal"]) == "high" { publish.priority = .high }
        var content = PlatformContent()
        content.type = try body["type"]?.text("type")
        if event == .start, content.type == nil { throw body.missing("type", "is required for event start") }
        content.contentState = try body["content_state"]?.rawObject()
        if content.contentState == nil, event != .end {
            throw body.missing("content_state", "is required for event \(event.rawValue)")
        }
        content.reachesSilent = try block["deliver_to"]?.choice(["all", "opted_in"]) == "all"
        content.collapseKey = try block["collapse_key"]?.text("collapse_key")
        if let timestamp = body["timestamp"] { publish.timestamp = try timestamp.publishTime(now: now) }
        if let date = body["dismissal_date"] {
            // 0 is "now", as in a Live Activity.
            let number = date.kind == .number ? try date.integer() : nil
            content.dismissalDate = number == 0 ? Int(now) : try date.epochSeconds()
        }
        if let staleAfter = common.reading.staleAfter, event != .end { content.staleDate = Int(now) + staleAfter }
        if let time = block["time_to_live"] { publish.options.expiry = try expiry(time, common.options, now: now) }
        publish.contentState = content.contentState
        publish.contents = [.android: content]
        let size =
            frame + publish.name.rawValue.utf8.count + (content.type?.utf8.count ?? 0)
            + (content.contentState?.bytes.count ?? 0)
        guard size <= FCMMessage.maximumData else {
            throw (body["content_state"] ?? value).error(
                "makes FCM's message \(size) bytes; Google's limit is \(FCMMessage.maximumData)")
        }
        let time = max(publish.timestamp ?? Int(now), Payload.timestampRange.lowerBound)
        return PublishBody.Push(
            publish: publish, payload: Payload(publish, timestamp: time).bytes, block: body,
            contentState: body["content_state"])
    }

    /// FCM's message.
    static func preview(
        _ push: PublishBody.Push, tokens: Int?, isForBroadcastAlone: Bool, now: Int64
    ) -> PlatformPreviewAnswer {
        let publish = push.publish
        let end = now + (publish.life ?? publish.event.life).milliseconds
        let expiry = publish.options.expiry
        // A push gets its id when it is accepted. All ids are of one length.
        let content = FCMContent(
            publish.contents[.android] ?? PlatformContent(), pushID: .ordered(at: now, index: 0), name: publish.name,
            event: publish.event, second: publish.timestamp ?? Int(now / 1_000), priority: publish.priority,
            expiry: expiry, deadline: expiry.flatMap { $0 == 0 ? nil : Int64($0) * 1_000 } ?? end, now: now)
        return PlatformPreviewAnswer(
            tokens: tokens, payloadBytes: FCMMessage.dataBytes(content), payloadLimit: FCMMessage.maximumData,
            payload: RawJSON(checked: FCMMessage.preview(content).bytes))
    }

    static func posted(_ content: PlatformContent, _ name: ActivityName, _ event: ActivityEvent) -> JSON {
        let update = JSON.fields([
            "name": .string(name.rawValue), "event": .string(event.rawValue), "type": content.type.map(JSON.string),
            "content_state": (content.contentState?.bytes).map(JSON.raw),
            "dismissal_date": content.dismissalDate.map { .integer(Int64($0)) },
        ])
        return .fields([
            member.key: update, "collapse_key": content.collapseKey.map(JSON.string),
            "deliver_to": content.reachesSilent ? "all" : nil,
        ])
    }

    /// A channel has one address, for all names: `token`, or `fid`, or neither if it is known.
    static func token(_ body: JSONObject) throws(JSONError) -> (token: PushToken, address: PushToken?) {
        let token = PushToken.ofChannel(on: .android)
        guard let fid = body["fid"] else { return (token, try body["token"]?.androidAddress(.token)) }
        if let token = body["token"] { throw token.keyError("is not allowed beside `fid`") }
        return (token, try fid.androidAddress(.fid))
    }

    static func text(_ token: ArraySlice<UInt8>) -> (field: String, text: String)? {
        AndroidAddress(stored: token).map { ($0.kind.field, $0.text) }
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
