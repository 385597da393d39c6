public import Delivery
internal import LiveActivity
public import StrictJSON

/// FCM's message for a Live Update: data alone, with the keys that Airship's SDK for Android reads. The app draws it.
public enum FCMMessage {
    /// The most bytes of keys and values that FCM takes.
    public static let maximumData = 4_096
    /// The reason in the ledger's `errors` for a message with more.
    public static let tooLarge = "MESSAGE_TOO_LARGE"
    /// FCM keeps a message for four weeks at most, seconds.
    private static let longestLife = 2_419_200
    private static let prefix = "com.urbanairship."

    /// A dash and milliseconds since 1970, until the year 2286.
    private static let registrationBytes = 14

    /// A key and its value.
    private struct Field {
        var key: String
        var value: String
        /// The end of the value that each device has for itself, and its most bytes.
        var own: (piece: PreparedPush.Piece, bytes: Int)?

        var bytes: Int { key.utf8.count + value.utf8.count + (own?.bytes ?? 0) }
    }

    /// The bytes of keys and values of a message, as FCM counts them, with the longest ids.
    public static func dataBytes(_ content: FCMContent) -> Int { fields(content).reduce(0) { $0 + $1.bytes } }

    /// The request that a device gets.
    /// - Parameters:
    ///   - project: as the service account names it
    ///   - isCheck: FCM checks the message and delivers it to nobody
    ///   - now: from when its time to live counts, `bootClock` milliseconds; nil: from this call on
    public static func render(
        _ content: FCMContent, project: String, isCheck: Bool = false, now: Int64? = nil
    ) -> PreparedPush {
        let fields = fields(content)
        let kinds = AndroidAddress.Kind.allCases.map { ($0.rawValue, Array("\"\($0.field)\":\"".utf8)) }
        var text = #"","data":{"#
        var pieces: [PreparedPush.Piece] = [
            .bytes(Array((isCheck ? #"{"validate_only":true,"message":{"# : #"{"message":{"#).utf8)),
            .addressByKind(Dictionary(uniqueKeysWithValues: kinds)),
        ]
        for (position, field) in fields.enumerated() {
            text += (position > 0 ? "," : "") + JSON.string(field.key).text + ":"
            let value = JSON.string(field.value).text
            if let own = field.own {
                // The quote behind the value comes behind the device's own end of it.
                pieces += [.bytes(Array("\(text)\(value.dropLast())".utf8)), own.piece]
                text = "\""
            } else {
                text += value
            }
        }
        // A request may wait long for its turn.
        let (head, seconds, tail) = android(content)
        let end = (now ?? bootClock()) + Int64(content.timeToLive) * 1_000
        pieces += [
            .bytes(Array("\(text)},\"android\":\(head)".utf8)),
            seconds > 0 ? .secondsLeft(until: end, atMost: mostSeconds(content)) : .bytes([UInt8(ascii: "0")]),
            .bytes(Array("\(tail)}}".utf8)),
        ]
        var push = PreparedPush(
            path: .shared("/v1/projects/\(project)/messages:send"),
            fields: [Exchange.Field("content-type", "application/json")], body: .ofEntry(pieces))
        if fields.reduce(0, { $0 + $1.bytes }) > maximumData { push.refusal = tooLarge }
        return push
    }

    /// The request without the address and the ids, which a push and a device have of their own.
    public static func preview(_ content: FCMContent) -> JSON {
        let data = commonFields(content).map { JSON.Member($0.key, .string($0.value)) }
        let (head, seconds, tail) = android(content)
        return ["message": ["data": .object(data), "android": .raw(Array("\(head)\(seconds)\(tail)".utf8))]]
    }

    private static func fields(_ content: FCMContent) -> [Field] {
        [
            Field(key: prefix + "push.PUSH_ID", value: "\(content.pushID)"),
            Field(
                key: prefix + "push.CANONICAL_PUSH_ID", value: "\(content.pushID)",
                own: (piece: .registration(after: content.ownIDAfter), bytes: registrationBytes)),
            Field(key: prefix + "push.APID", value: "", own: (piece: .channel, bytes: ChannelID.maximumBytes)),
        ] + commonFields(content)
    }

    private static func commonFields(_ content: FCMContent) -> [Field] {
        var fields: [Field] = []
        if let expiration = content.expiration {
            fields.append(Field(key: prefix + "push.EXPIRATION", value: "\(expiration)"))
        }
        // The content state is a part of a JSON text that is itself a JSON string, so it is escaped once.
        let update = JSON.fields([
            "name": .string(content.name.description), "event": .string(content.event.rawValue),
            "type": content.type.map { .string($0) }, "timestamp": .integer(content.timestamp),
            "content_state": content.contentState.map { .raw($0.bytes) },
            "dismissal_date": content.dismissalDate.map { .integer($0) },
        ])
        fields.append(Field(key: prefix + "live_update", value: update.text))
        return fields + content.extra.sorted { $0.key < $1.key }.map { Field(key: $0.key, value: $0.value) }
    }

    private static func mostSeconds(_ content: FCMContent) -> Int { min(content.keptAtMost ?? .max, longestLife) }

    /// The text before and behind the seconds for which FCM keeps the message.
    private static func android(_ content: FCMContent) -> (head: String, seconds: Int, tail: String) {
        let key = content.collapseKey.map { ",\"collapse_key\":\(JSON.string($0).text)" } ?? ""
        return (
            #"{"priority":"\#(content.priority == .high ? "high" : "normal")","ttl":""#,
            min(max(content.timeToLive, 0), mostSeconds(content)), "s\"\(key)}"
        )
    }
}
