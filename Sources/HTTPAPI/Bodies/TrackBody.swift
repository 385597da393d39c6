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
    ///   - catchesUp: the value if `options.catch_up` is absent.
    static func single(
        _ bytes: [UInt8], channel: ChannelID, isStart: Bool = false, now: Int64, catchesUp: Bool = false
    ) throws(JSONError) -> Registration {
        let body = try JSONDocument(bytes).root.object()
        try body.refuseUnknownKeys(known: isStart ? startKeys : keys)
        return try registration(body, channel: channel, now: now, catchesUp)
    }

    /// The same with the key `"channel"`.
    static func line(
        _ bytes: [UInt8], isStart: Bool = false, now: Int64, catchesUp: Bool = false
    ) throws(JSONError) -> Registration {
        let body = try JSONDocument(bytes).root.object()
        try body.refuseUnknownKeys(known: ["channel"] + (isStart ? startKeys : keys))
        let channel = try identifier(body.required("channel")) { text throws(IdentifierError) in try ChannelID(text) }
        return try registration(body, channel: channel, now: now, catchesUp)
    }

    private static func registration(
        _ body: JSONObject, channel: ChannelID, now: Int64, _ catchesUp: Bool
    ) throws(JSONError) -> Registration {
        let token = try identifier(body.required("token")) { text throws(IdentifierError) in try PushToken(hex: text) }
        let registered = try body["registered_at_ms"].map { value throws(JSONError) in try EpochMilliseconds.read(value)
        }
        let started = try body["started_at_ms"].map { value throws(JSONError) in
            try EpochMilliseconds.start(value, after: now, "now")
        }
        let id = try body["activity_id"].map { value throws(JSONError) in try AudienceBody.text(value, "activity_id") }
        let frequent = try body["frequent_pushes_enabled"].map { value throws(JSONError) in try value.bool() }
        var wantsState = catchesUp
        if let options = try body["options"]?.object() {
            try options.refuseUnknownKeys(known: ["catch_up"])
            if let value = options["catch_up"] { wantsState = try value.bool() }
        }
        return Registration(
            channel: channel, token: token, registeredAt: registered ?? now, startedAt: started, activityID: id,
            frequentPushesEnabled: frequent, wantsState: wantsState)
    }
}

/// Cuts a stream of bytes into lines, in bounded memory.
struct LineReader {
    enum Line: Sendable, Hashable {
        case text([UInt8])
        case tooLong
    }

    let maximumBytes: Int
    private var partial: [UInt8] = []
    private var isSkipping = false

    init(maximumBytes: Int) {
        self.maximumBytes = maximumBytes
    }

    /// The lines that `bytes` completes, without their LF.
    mutating func read(_ bytes: some Collection<UInt8>) -> [Line] {
        var lines: [Line] = []
        var rest = bytes[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            take(rest[..<end])
            lines.append(complete())
            rest = rest[rest.index(after: end)...]
        }
        take(rest)
        return lines
    }

    /// The last line, if the stream did not end with LF.
    mutating func finish() -> Line? { partial.isEmpty && !isSkipping ? nil : complete() }

    private mutating func take(_ part: some Collection<UInt8>) {
        guard !isSkipping else { return }
        guard partial.count + part.count <= maximumBytes else {
            partial = []
            isSkipping = true
            return
        }
        partial.append(contentsOf: part)
    }

    private mutating func complete() -> Line {
        defer {
            partial = []
            isSkipping = false
        }
        return isSkipping ? .tooLong : .text(partial)
    }
}
