import Store
import StrictJSON

/// Bodies that Airship's SDK sends about contacts.
enum ContactBody {
    enum Action: Sendable, Hashable {
        /// Asks which contact the channel belongs to.
        case resolve
        case identify(namedUser: String)
        /// The user signed out.
        case reset
    }

    /// `{"device_info":{"device_type":"ios"},"action":{"type":"identify","named_user_id":"user-7","contact_id":…}}`
    /// The SDK's contact ids are its guesses and are not read.
    static func action(_ bytes: [UInt8]) throws(JSONError) -> Action {
        let action = try JSONDocument(bytes).root.object().required("action").object()
        let type = try action.required("type")
        switch try type.string() {
        case "resolve": return .resolve
        case "identify": return .identify(namedUser: try action.required("named_user_id").text("named_user_id"))
        case "reset": return .reset
        default: throw type.error("must be resolve, identify or reset")
        }
    }

    /// `{"tags":{"add":…,"remove":…,"set":…}}`. `attributes`, `subscription_lists` and `associate` have no effect.
    static func update(_ bytes: [UInt8]) throws(JSONError) -> TagChange {
        guard let tags = try JSONDocument(bytes).root.object()["tags"], tags.kind != .null else { return TagChange() }
        return try ChannelBody.tags(tags.object(), isFromDevice: true)
    }
}
