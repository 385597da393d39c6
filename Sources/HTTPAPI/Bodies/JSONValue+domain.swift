import APNsWire
import LiveActivity
import Store
import StrictJSON

// Typed reading of names, tokens, texts and times. Each error has the path and the place of its value.
extension JSONValue {
    /// `any`, `none` or the id of a push.
    func afterPush() throws(JSONError) -> AfterPush {
        guard let after = AfterPush(try string()) else { throw error("must be a push id, `none` or `any`") }
        return after
    }

    func activityName() throws(JSONError) -> ActivityName { try identifier(ActivityName.init(_:)) }
    func channelID() throws(JSONError) -> ChannelID { try identifier(ChannelID.init(_:)) }
    func pushToken() throws(JSONError) -> PushToken { try identifier(PushToken.init(hex:)) }
    func platform() throws(JSONError) -> Platform {
        let text = try choice(Platform.all.map(\.name))
        return Platform(name: text) ?? .ios
    }

    /// The error of a value for a platform that the app does not send to. `platform` is its name in a sentence.
    func unsent(to platform: String) -> JSONError {
        error("must not be there: this app does not send to \(platform)")
    }

    /// One of the words.
    func choice(_ words: [String]) throws(JSONError) -> String {
        let text = try string()
        guard words.contains(text) else {
            throw error("must be \(words.joined(separator: " or "))\(words.suggestion(for: text))")
        }
        return text
    }

    func attributesType() throws(JSONError) -> String { try identifier(checkedAttributesType) }

    func rawObject() throws(JSONError) -> RawJSON {
        guard kind == .object else { throw mismatch("an object") }
        return RawJSON(checked: Array(raw))
    }

    /// A tag, a tag group, a named user or another short text.
    func text(_ what: String) throws(JSONError) -> String {
        try identifier { text throws(IdentifierError) in
            try checkText(text, what: what, maximumBytes: AudienceBody.maximumTextBytes)
            return text
        }
    }

    func identifier<Value>(_ make: (String) throws(IdentifierError) -> Value) throws(JSONError) -> Value {
        let text = try string()
        do throws(IdentifierError) { return try make(text) } catch { throw self.error("must be \(error.rule)") }
    }

    /// Accepts 13 digits: the years 2001 to 2286. For a value in seconds the error says so.
    func epochMilliseconds() throws(JSONError) -> Int64 {
        try refuseTimeText("milliseconds", perUnit: 1)
        let milliseconds = try integer()
        guard (1_000_000_000_000...9_999_999_999_999).contains(milliseconds) else {
            let isSeconds = (1_000_000_000...9_999_999_999).contains(milliseconds)
            let guess = "; this looks like seconds: \(milliseconds)000?"
            throw error("must be epoch milliseconds\(isSeconds ? guess : ", a number of 13 digits")")
        }
        return milliseconds
    }

    /// Accepts ten digits: the years 2001 to 2286. For a value in milliseconds the error says so.
    func epochSeconds() throws(JSONError) -> Int {
        try refuseTimeText("seconds", perUnit: 1_000)
        let seconds = try integer()
        guard let exact = Int(exactly: seconds), Payload.timestampRange.contains(exact) else {
            let isMilliseconds = Payload.timestampRange.contains(Int(seconds / 1_000))
            let guess = "; this looks like milliseconds: \(seconds / 1_000)?"
            throw error("must be epoch seconds\(isMilliseconds ? guess : ", a number of ten digits")")
        }
        return exact
    }

    /// Names the number that a text means: a date, or digits in quotes.
    private func refuseTimeText(_ unit: String, perUnit: Int64) throws(JSONError) {
        guard kind == .string else { return }
        let text = try string()
        if let milliseconds = TimeText.parse(text) {
            throw error("must be epoch \(unit): \(milliseconds / perUnit)?")
        }
        if Int64(text) != nil { throw error("must be epoch \(unit), a number without quotes") }
    }

    /// When an activity starts, in epoch milliseconds: at most 30 days after `time`, which errors call `what`.
    func startMilliseconds(after time: Int64, _ what: String) throws(JSONError) -> Int64 {
        let milliseconds = try epochMilliseconds()
        guard milliseconds <= time + Registration.mostAhead else {
            throw error(
                "must be at most 30 days after \(what): an activity that starts later has to register its token later")
        }
        return milliseconds
    }

    /// The value itself, or the 1 to `limit` values of an array. `what` names them in the error.
    func oneOrMore(atMost limit: Int, _ what: (one: String, many: String)) throws(JSONError) -> [JSONValue] {
        guard kind == .array else { return [self] }
        let values = try array(atMost: limit, what.many)
        guard !values.isEmpty else { throw error("must hold at least one \(what.one)") }
        return values
    }

    /// The values of an array that has at most `limit`. `what` names them in the error.
    func array(atMost limit: Int, _ what: String) throws(JSONError) -> [JSONValue] {
        let values = try array()
        guard values.count <= limit else { throw error("must hold at most \(limit) \(what), not \(values.count)") }
        return values
    }
}
