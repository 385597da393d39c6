import LiveActivity
import Store
import StrictJSON

/// The SDK's batch update of one channel.
///
/// A malformed entry does not block the others. The SDK keeps a batch that got a 4xx and sends it again with the next
/// one. So the gateway applies every entry that it can, and the response names the rest.
struct BatchBody: Sendable {
    enum Update: Sendable, Hashable {
        case set(ActivityName, Registration)
        case remove(ActivityName, Removal)
        /// Sets the start token. Nil removes it.
        case startToken(attributesType: String, PushToken?, at: Int64)
    }

    /// The most entries of `live_activities` in one call. The SDK sends a few,
    /// and each costs at least one round trip to Redis.
    static let maximumUpdates = 1_000
    /// The most problems that are kept and shown. The rest are only counted.
    static let maximumProblems = 100

    var tags: TagChange?
    /// In the order in which the SDK sent them.
    var updates: [Update] = []
    private(set) var problems: [JSONError] = []
    private(set) var problemCount = 0
    private var tagsValue: JSONValue?

    /// Reads a batch. `attributes` and `subscription_lists` are accepted and ignored.
    ///
    /// - Parameters:
    ///   - bytes: the body.
    ///   - channel: the channel that the batch is for.
    ///   - catchesUp: the app's default, because the SDK has no field for it.
    /// - Throws: if the body as a whole cannot be read.
    init(_ bytes: [UInt8], channel: ChannelID, catchesUp: Bool = false) throws(JSONError) {
        let body = try JSONDocument(bytes).root.object()
        tagsValue = body["tags"]
        if let tags = tagsValue {
            do throws(JSONError) {
                self.tags = try ChannelBody.tags(tags.object(), isFromDevice: true)
            } catch {
                note(error)
            }
        }
        guard let entries = body["live_activities"] else { return }
        do throws(JSONError) {
            let values = try entries.array()
            for entry in values.prefix(Self.maximumUpdates) {
                do throws(JSONError) {
                    updates.append(try Self.update(entry, channel: channel, catchesUp))
                } catch {
                    note(error)
                }
            }
            if values.count > Self.maximumUpdates {
                throw values[Self.maximumUpdates].error(
                    "is one of \(values.count) entries, and only the first \(Self.maximumUpdates) of a call are applied: "
                        + "send the others in another call")
            }
        } catch {
            note(error)
        }
    }

    /// Notes that the change would give the channel more tags than it may have.
    mutating func note(tooManyTags limit: Int) {
        guard let tagsValue else { return }
        note(tagsValue.error("would give the channel more than \(limit) tags: it keeps those that it has"))
    }

    private mutating func note(_ problem: JSONError) {
        problemCount += 1
        if problems.count < Self.maximumProblems { problems.append(problem) }
    }

    private static func update(
        _ value: JSONValue, channel: ChannelID, _ catchesUp: Bool
    ) throws(JSONError) -> Update {
        let entry = try value.object()
        let actionValue = try entry.required("action")
        let action = try actionValue.string()
        guard action == "set" || action == "remove" else { throw actionValue.error("must be set or remove") }
        let at = try EpochMilliseconds.read(entry.required("action_ts_ms"))
        let type = try entry["type"].map { value throws(JSONError) in try value.string() } ?? "update_token"
        switch type {
        case "update_token":
            let name = try identifier(entry.required("name")) { text throws(IdentifierError) in try ActivityName(text) }
            let id = try entry["id"].map { value throws(JSONError) in try AudienceBody.text(value, "id") }
            guard action == "set" else {
                return .remove(name, Removal(channel: channel, removedAt: at, activityID: id))
            }
            let started = try entry["start_ts_ms"].map { value throws(JSONError) in
                try EpochMilliseconds.start(value, after: at, "action_ts_ms")
            }
            return .set(
                name,
                Registration(
                    channel: channel, token: try token(entry), registeredAt: at, startedAt: started, activityID: id,
                    wantsState: catchesUp))
        case "start_token":
            let attributes = try identifier(entry.required("attributes_type")) { text throws(IdentifierError) in
                try checkAttributesType(text)
                return text
            }
            return .startToken(attributesType: attributes, action == "set" ? try token(entry) : nil, at: at)
        default: throw (entry["type"] ?? value).error("must be update_token or start_token")
        }
    }

    private static func token(_ entry: JSONObject) throws(JSONError) -> PushToken {
        try identifier(entry.required("token")) { text throws(IdentifierError) in try PushToken(hex: text) }
    }
}

/// Reads epoch milliseconds from a body.
enum EpochMilliseconds {
    /// Accepts 13 digits: the years 2001 to 2286. For a value in seconds the error says so.
    static func read(_ value: JSONValue) throws(JSONError) -> Int64 {
        let milliseconds = try value.integer()
        guard (1_000_000_000_000...9_999_999_999_999).contains(milliseconds) else {
            let isSeconds = (1_000_000_000...9_999_999_999).contains(milliseconds)
            throw value.error(
                isSeconds
                    ? "must be epoch milliseconds; this looks like seconds: \(milliseconds)000?"
                    : "must be epoch milliseconds, a number of 13 digits")
        }
        return milliseconds
    }

    /// Reads the time at which an activity started or will start.
    ///
    /// - Parameters:
    ///   - value: epoch milliseconds. A scheduled activity may start up to 30 days after `time`.
    ///   - time: epoch milliseconds.
    ///   - what: the name of `time` in the error.
    static func start(_ value: JSONValue, after time: Int64, _ what: String) throws(JSONError) -> Int64 {
        let milliseconds = try read(value)
        guard milliseconds <= time + Registration.mostAhead else {
            throw value.error(
                "must be at most 30 days after \(what): register the token of an activity that starts later nearer to its start"
            )
        }
        return milliseconds
    }
}
