import LiveActivity
import StrictJSON

/// `audience`: Airship's selectors.
enum AudienceBody {
    /// Bytes of a tag, a tag group or a named user.
    static let maximumTextBytes = 255

    static func parse(_ value: JSONValue) throws(JSONError) -> Audience {
        var leaves = 0
        return try selector(value, depth: 0, leaves: &leaves)
    }

    private static let operators = ["or", "and", "not"]
    private static let selectors = ["tag", "ios_channel", "channel", "named_user"]

    /// Recursive; `Audience.maximumDepth` bounds it, and before that the document's own depth.
    private static func selector(
        _ value: JSONValue, depth: Int, leaves: inout Int
    ) throws(JSONError) -> Audience {
        guard depth <= Audience.maximumDepth else {
            throw value.error("nests selectors deeper than \(Audience.maximumDepth) levels")
        }
        if value.kind == .string {
            let text = try value.string()
            guard text.lowercased() == "all" else { throw value.error("must be \"all\" or a selector object") }
            return .all
        }
        guard value.kind == .object else { throw value.mismatch("\"all\" or a selector object") }
        let object = try value.object()
        try object.refuseUnknownKeys(known: operators + selectors + ["group"])
        let keys = object.members.map(\.key).filter { $0 != "group" }
        guard keys.count == 1, let key = keys.first, let operand = object[key] else {
            let found = keys.isEmpty ? "none" : keys.joined(separator: ", ")
            throw value.error(
                "must have exactly one of \((operators + selectors).joined(separator: ", ")); it has \(found)")
        }
        if key != "tag", let group = object["group"] { throw group.keyError("belongs beside `tag` only") }
        switch key {
        case "or": return .or(try parts(operand, depth: depth, leaves: &leaves))
        case "and": return .and(try parts(operand, depth: depth, leaves: &leaves))
        case "not": return .not(try selector(operand, depth: depth + 1, leaves: &leaves))
        case "tag":
            let group = try object["group"].map { value throws(JSONError) in try text(value, "group") }
            return try anyOf(operand, depth: depth, leaves: &leaves) { value throws(JSONError) in
                .tag(try text(value, "tag"), group: group ?? Audience.deviceGroup)
            }
        case "named_user":
            return try anyOf(operand, depth: depth, leaves: &leaves) { value throws(JSONError) in
                .namedUser(try text(value, "named_user"))
            }
        default:
            return try anyOf(operand, depth: depth, leaves: &leaves) { value throws(JSONError) in
                .channel(try identifier(value) { text throws(IdentifierError) in try ChannelID(text) })
            }
        }
    }

    private static func parts(
        _ value: JSONValue, depth: Int, leaves: inout Int
    ) throws(JSONError) -> [Audience] {
        let values = try value.array()
        guard !values.isEmpty else { throw value.error("must hold at least one selector") }
        var parts: [Audience] = []
        for value in values { parts.append(try selector(value, depth: depth + 1, leaves: &leaves)) }
        return parts
    }

    /// A string, or a list of strings of which any may match.
    private static func anyOf(
        _ value: JSONValue, depth: Int, leaves: inout Int, _ leaf: (JSONValue) throws(JSONError) -> Audience
    ) throws(JSONError) -> Audience {
        let values = value.kind == .array ? try value.array() : [value]
        guard !values.isEmpty else { throw value.error("must hold at least one string") }
        leaves += values.count
        guard leaves <= Audience.maximumLeaves else {
            throw value.error(
                "makes more than \(Audience.maximumLeaves) tags, channels and named users in one audience")
        }
        guard values.count == 1 || depth < Audience.maximumDepth else {
            throw value.error("nests selectors deeper than \(Audience.maximumDepth) levels")
        }
        var found: [Audience] = []
        for value in values { found.append(try leaf(value)) }
        return found.count == 1 ? found[0] : .or(found)
    }

    static func text(_ value: JSONValue, _ what: String) throws(JSONError) -> String {
        try identifier(value) { text throws(IdentifierError) in
            try checkText(text, what: what, maximumBytes: maximumTextBytes)
            return text
        }
    }
}
