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

    private static func users(_ value: JSONValue, atMost limit: Int) throws(JSONError) -> [String] {
        try value.oneOrMore(atMost: limit, (one: "named user", many: "named users"))
            .map { (user) throws(JSONError) in try user.text("named_user_id") }
    }
}
