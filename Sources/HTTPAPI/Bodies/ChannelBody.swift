import LiveActivity
import Store
import StrictJSON

/// Bodies of the calls about channels. Fields that Lamplighter does not use are accepted and ignored.
enum ChannelBody {
    struct Registration: Sendable, Hashable {
        var tags: TagChange
        /// The named user that the channel gets. Nil leaves the named user as it is.
        var namedUser: String?
        /// Whether the device has iOS 18 or later. Nil if the body does not say. The SDK says so when the value
        /// changes.
        var hasIOS18: Bool?
        /// The install's address, by the body. Nil: its platform has none for all names.
        var address: Address?
    }

    /// An install's address on a platform where it has one.
    struct Address: Sendable, Hashable {
        var platform: Platform
        /// Nil: there is none now, or one of a service that Lamplighter does not send by.
        var address: PushToken?
        /// Whether the user lets the app show notifications. Nil: the body does not say.
        var showsNotifications: Bool?
        /// Push is switched off, so the app has cleared its cards. No batch tells of it.
        var isOff = false
        /// Nil: the body does not say, so it is as before.
        var appVersion: String?
    }

    /// Airship's limits: tags of one group in one call, groups in one call, and tags in the list of a channel.
    static let maximumTags = 100
    static let maximumGroups = 100
    static let maximumDeviceTags = 1_000
    /// The most tags of one call, in all groups of `add`, `remove` and `set`. Redis changes them in two scripts.
    static let maximumTagsOfCall = 1_000

    /// One line of the bulk call that tags channels and gives them named users.
    /// `{"channel":…,"add"?,"remove"?,"set"?,"named_user_id"?}`. A `named_user_id` of null removes the user.
    static func change(_ bytes: [UInt8]) throws(JSONError) -> ChannelChange {
        let body = try JSONDocument(bytes).root.object(known: ["channel", "add", "remove", "set", "named_user_id"])
        var change = ChannelChange(channel: try body.required("channel").channelID(), tags: try tags(body))
        guard body.members.count > 1 else { throw body.value.error("must have add, remove, set or named_user_id") }
        if let user = body["named_user_id"] {
            change.namedUser = user.kind == .null ? .removed : .user(try user.text("named_user_id"))
        }
        return change
    }

    /// `{"channel":{"device_type":"ios","tags":[…],"set_tags":true,"named_user_id":…,"device_os":"18.1"}}`
    static func registration(_ bytes: [UInt8]) throws(JSONError) -> Registration {
        let channel = try JSONDocument(bytes).root.object().required("channel").object()
        var registration = Registration(tags: TagChange(), namedUser: nil)
        registration.address = try address(channel)
        // In Airship's API the list of tags is only informative without `set_tags`.
        if let set = channel["set_tags"], try set.bool() {
            var tags: Set<ExactText> = []
            if let value = channel["tags"] { tags = try strings(value, atMost: maximumDeviceTags) }
            registration.tags.set[ExactText(Audience.deviceGroup)] = tags
        } else if let tags = channel["tags"], tags.kind != .null {
            _ = try strings(tags, atMost: maximumDeviceTags)
        }
        if let user = channel["named_user_id"], user.kind != .null {
            registration.namedUser = try user.text("named_user_id")
        }
        if let system = channel["device_os"], system.kind == .string {
            registration.hasIOS18 = Int(try system.string().prefix { $0 != "." }).map { $0 >= 18 }
        }
        return registration
    }

    /// `{"add":{"group":["tag"]},"remove":{…},"set":{…}}`, each key optional. Applied in the order set, add, remove.
    /// - Parameter isFromDevice: lets several keys name one group, because the SDK merges changes that it has not sent.
    static func tags(_ object: JSONObject, isFromDevice: Bool = false) throws(JSONError) -> TagChange {
        var change = TagChange()
        if let add = object["add"] { change.add = try groups(add) }
        if let remove = object["remove"] { change.remove = try groups(remove) }
        if let set = object["set"] { change.set = try groups(set) }
        let count = [change.add, change.remove, change.set].flatMap(\.values).reduce(0) { $0 + $1.count }
        guard count <= maximumTagsOfCall else {
            throw object.value.error(
                "must name at most \(maximumTagsOfCall) tags in `add`, `remove` and `set` together, not \(count)")
        }
        if isFromDevice { return change }
        for (key, groups) in [("add", change.add), ("remove", change.remove)] {
            for group in groups.keys where change.set[group] != nil {
                throw (object[key] ?? object.value).error("must not name a group that `set` replaces")
            }
        }
        return change
    }

    static let maximumChannels = 1_000
    private static let servedAudience = ["ios_channel", "android_channel", "channel"]
    private static let foreignAudience = ["amazon_channel"]

    /// `{"audience":{"ios_channel": id or up to 1,000},"add":…,"remove":…,"set":…}`.
    /// Other platforms get a warning.
    static func tagRequest(
        _ bytes: [UInt8]
    ) throws(JSONError) -> (channels: [ChannelID], change: TagChange, warnings: [String]) {
        let body = try JSONDocument(bytes).root.object(known: ["audience", "add", "remove", "set"])
        let audience = try body.required("audience").object(known: servedAudience + foreignAudience)
        let lists = servedAudience.compactMap { audience[$0] }
        guard let first = lists.first else { throw audience.missing("ios_channel") }
        var values: [JSONValue] = []
        for list in lists { values += list.kind == .array ? try list.array() : [list] }
        guard (1...maximumChannels).contains(values.count) else {
            throw first.error("must be one channel, or a list of 1 to \(maximumChannels)")
        }
        let warnings = foreignAudience.compactMap { audience[$0] }
            .map { "\($0.path) is not tagged: Lamplighter does not serve this platform" }
        let channels = try values.map { (value) throws(JSONError) in try value.channelID() }
        return (channels, try requiredTags(body), warnings)
    }

    /// The tags of a body that must change some.
    static func requiredTags(_ body: JSONObject) throws(JSONError) -> TagChange {
        guard body["add"] != nil || body["remove"] != nil || body["set"] != nil else {
            throw body.value.error("must have add, remove or set")
        }
        return try tags(body)
    }

    /// Airship's limit of channels in one call.
    static let maximumUninstalled = 200

    /// `[{"channel_id":…,"device_type":"ios"}]`, or one such object.
    static func uninstalls(_ bytes: [UInt8]) throws(JSONError) -> [ChannelID] {
        try channels(JSONDocument(bytes).root, atMost: maximumUninstalled)
    }

    /// `{"channel_id":…,"device_type":"ios"}`, or a list of them.
    static func channels(_ value: JSONValue, atMost limit: Int) throws(JSONError) -> [ChannelID] {
        let entries = try value.oneOrMore(atMost: limit, (one: "channel", many: "channels"))
        return try entries.map { (entry) throws(JSONError) in
            let entry = try entry.object(known: ["channel_id", "device_type"])
            if let type = entry["device_type"] { _ = try deviceType(type) }
            return try entry.required("channel_id").channelID()
        }
    }

    /// `{"channel_id","device_type":"ios","named_user_id"}`
    static func namedUser(
        _ bytes: [UInt8], isRequired: Bool
    ) throws(JSONError) -> (channel: ChannelID, namedUser: String?) {
        let body = try JSONDocument(bytes).root.object(known: ["channel_id", "device_type", "named_user_id"])
        let channel = try body.required("channel_id").channelID()
        if let type = body["device_type"] { _ = try deviceType(type) }
        if isRequired { _ = try body.required("named_user_id") }
        return (channel, try body["named_user_id"]?.text("named_user_id"))
    }

    /// Channels of these types are kept. Channels of a type that no platform sends to get nothing.
    static let deviceTypes = ["ios", "android", "amazon"]

    static func deviceType(_ value: JSONValue) throws(JSONError) -> String {
        let text = try value.string()
        guard deviceTypes.contains(text) else {
            throw value.error("must be ios, android or amazon\(deviceTypes.suggestion(for: text))")
        }
        return text
    }

    private static func groups(_ value: JSONValue) throws(JSONError) -> [ExactText: Set<ExactText>] {
        var groups: [ExactText: Set<ExactText>] = [:]
        let members = try value.object().members
        guard members.count <= maximumGroups else {
            throw value.error("must name at most \(maximumGroups) groups, not \(members.count)")
        }
        for (group, tags) in members {
            do throws(IdentifierError) {
                try checkText(group, what: "group", maximumBytes: AudienceBody.maximumTextBytes)
            } catch {
                throw tags.keyError("must be \(error.rule)")
            }
            groups[ExactText(group)] = try strings(tags, atMost: maximumTags)
        }
        return groups
    }

    private static func strings(_ value: JSONValue, atMost limit: Int) throws(JSONError) -> Set<ExactText> {
        try Set(value.array(atMost: limit, "tags").map { (tag) throws(JSONError) in try ExactText(tag.text("tag")) })
    }
}
