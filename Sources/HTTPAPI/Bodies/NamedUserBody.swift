import LiveActivity
import Store
import StrictJSON

/// Bodies of the calls about named users.
enum NamedUserBody {
    /// Airship's limits: users in one call.
    static let (maximumTagged, maximumUninstalled) = (1_000, 100)

    /// `{"audience":{"named_user_id": one or up to 1,000},"add":…,"remove":…,"set":…}`
    static func tagRequest(_ bytes: [UInt8]) throws(JSONError) -> (users: [String], change: TagChange) {
        let body = try JSONDocument(bytes).root.object(known: ["audience", "add", "remove", "set"])
        let audience = try body.required("audience").object(known: ["named_user_id"])
        let users = try users(audience.required("named_user_id"), atMost: maximumTagged)
        return (users, try ChannelBody.requiredTags(body))
    }

    /// `{"named_user_id": one or up to 100}`
    static func uninstalls(_ bytes: [UInt8]) throws(JSONError) -> [String] {
        let body = try JSONDocument(bytes).root.object(known: ["named_user_id"])
        return try users(body.required("named_user_id"), atMost: maximumUninstalled)
    }

    struct Update: Sendable, Hashable {
        var associate: [ChannelID] = []
        var disassociate: [ChannelID] = []
        var tags: TagChange?
        var warnings: [String] = []
    }

    /// `{"associate":[{"channel_id","device_type":"ios"}],"disassociate":…,"tags":{"add":…,"remove":…,"set":…}}`, each
    /// key optional. `attributes` has no effect.
    static func update(_ bytes: [UInt8]) throws(JSONError) -> Update {
        let body = try JSONDocument(bytes).root.object(known: ["associate", "disassociate", "tags", "attributes"])
        var update = Update()
        if let list = body["associate"] { update.associate = try ChannelBody.channels(list, atMost: maximumTagged) }
        if let list = body["disassociate"] {
            update.disassociate = try ChannelBody.channels(list, atMost: maximumTagged)
        }
        if let tags = body["tags"] {
            update.tags = try ChannelBody.requiredTags(tags.object(known: ["add", "remove", "set"]))
        }
        if let attributes = body["attributes"], attributes.asksForSomething {
            update.warnings.append("attributes has no effect: Lamplighter keeps no attributes. Use tags")
        }
        guard !body.members.isEmpty else { throw body.value.error("must have associate, disassociate or tags") }
        return update
    }

    private static func users(_ value: JSONValue, atMost limit: Int) throws(JSONError) -> [String] {
        try value.oneOrMore(atMost: limit, (one: "named user", many: "named users"))
            .map { (user) throws(JSONError) in try user.text("named_user_id") }
    }
}
