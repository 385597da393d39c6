import LiveActivity
import Store
import StrictJSON

/// The SDK's batch update of one channel. The gateway applies every entry that it can, and the response names the rest:
/// after a 4xx the SDK would keep the whole batch and send it again with the next one.
struct BatchBody: Sendable {
    enum Update: Sendable, Hashable {
        case set(TokenPlace, Registration)
        case remove(TokenPlace, Untrack)
        /// A card is over whose channel has the address, since this time by the phone's clock.
        case removeCard(ActivityName, at: Int64, Untrack)
    }

    /// The most entries of `live_activities` in one call. Each costs at least one round trip to Redis.
    static let maximumUpdates = 1_000
    /// The most problems that are kept and shown. The rest are only counted.
    static let maximumProblems = 100
    var tags: TagChange?
    var updates: [Update] = []
    private(set) var problems: [JSONError] = []
    private(set) var problemCount = 0
    private var tagsValue: JSONValue?

    /// `attributes` and `subscription_lists` are accepted and ignored.
    /// - Parameters:
    ///   - catchesUp: the app's default, because the SDK has no field for it.
    ///   - platforms: to which the app sends
    /// - Throws: if the body as a whole cannot be read.
    init(
        _ bytes: [UInt8], channel: ChannelID, catchesUp: Bool = false, platforms: Set<Platform> = [.ios]
    ) throws(JSONError) {
        let body = try JSONDocument(bytes).root.object()
        tagsValue = body["tags"]
        do throws(JSONError) {
            if let tagsValue { tags = try ChannelBody.tags(tagsValue.object(), isFromDevice: true) }
        } catch {
            note(error)
        }
        read(body["live_activities"]) { (entry) throws(JSONError) in
            try Self.update(entry, channel: channel, catchesUp, platforms)
        }
        read(body["live_updates"]) { (entry) throws(JSONError) in
            try Self.liveUpdate(entry, channel: channel, catchesUp, platforms)
        }
    }

    private mutating func read(_ list: JSONValue?, _ update: (JSONValue) throws(JSONError) -> Update) {
        do throws(JSONError) {
            let values = try list?.array() ?? []
            for entry in values.prefix(Self.maximumUpdates) {
                do throws(JSONError) { updates.append(try update(entry)) } catch { note(error) }
            }
            if values.count > Self.maximumUpdates {
                throw values[Self.maximumUpdates].error(
                    "is beyond the first \(Self.maximumUpdates) of the call's \(values.count) entries: send it in another call"
                )
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

    /// Leaves the tags out.
    mutating func refuseTags(_ reason: String) {
        if tags != nil, let tagsValue { note(tagsValue.error("were not changed: \(reason)")) }
        tags = nil
    }

    private mutating func note(_ problem: JSONError) {
        problemCount += 1
        if problems.count < Self.maximumProblems { problems.append(problem) }
    }

    static func action(_ entry: JSONObject) throws(JSONError) -> String {
        let value = try entry.required("action")
        let action = try value.string()
        guard action == "set" || action == "remove" else { throw value.error("must be set or remove") }
        return action
    }

    private static func update(
        _ value: JSONValue, channel: ChannelID, _ catchesUp: Bool, _ platforms: Set<Platform>
    ) throws(JSONError) -> Update {
        guard platforms.contains(.ios) else { throw value.unsent(to: "iOS") }
        let entry = try value.object()
        let action = try action(entry)
        let at = try entry.required("action_ts_ms").epochMilliseconds()
        let place: TokenPlace
        var id: String?
        switch try entry["type"]?.string() ?? "update_token" {
        case "update_token":
            place = .activity(try entry.required("name").activityName())
            id = try entry["id"]?.text("id")
        case "start_token": place = .startTokens(of: try entry.required("attributes_type").attributesType())
        default: throw (entry["type"] ?? value).error("must be update_token or start_token")
        }
        guard action == "set" else { return .remove(place, Untrack(channel: channel, removedAt: at, activityID: id)) }
        let isStart = place.isForStartTokens
        let started = try isStart ? nil : entry["start_ts_ms"]?.startMilliseconds(after: at, "action_ts_ms")
        let token = try entry.required("token").pushToken()
        let registration = Registration(
            channel: channel, token: token, registeredAt: at, startedAt: started, activityID: id,
            wantsState: catchesUp && !isStart)
        return .set(place, registration)
    }
}
