import LiveActivity
import StrictJSON

/// `audience`: Airship's selectors.
enum AudienceBody {
    /// The most bytes of a tag, a tag group or a named user.
    static let maximumTextBytes = 255

    /// - Parameter platforms: of the app
    static func parse(
        _ value: JSONValue, _ platforms: Set<Platform> = [.ios], warnings: inout [String]
    ) throws(JSONError) -> Audience {
        var walk = Walk(platforms: platforms)
        let audience = try selector(value, depth: 0, &walk)
        guard !walk.foreign.isEmpty else { return audience }
        warnings.append(
            "\(value.path): \(walk.foreign.joined(separator: ", ")) matches nobody here: this app sends to no such device"
                + (walk.isForeignNegated ? "; `not` of it matches everybody" : "")
                + (audience == .nobody ? "; the whole audience matches nobody" : "")
                + (audience == .all ? "; the whole audience is \"all\"" : ""))
        return audience
    }

    private struct Walk {
        let platforms: Set<Platform>
        var leaves = 0
        /// Selectors of other platforms: each key once, in order of first appearance.
        var foreign: [String] = []
        var isForeignNegated = false

        /// Whether the selector is for channels of a platform that the app does not have.
        func lacks(_ key: String) -> Bool {
            guard let platform = Platform.all.first(where: { "\($0)_channel" == key }) else { return false }
            return !platforms.contains(platform)
        }
    }

    private static let known = ["or", "and", "not", "tag", "ios_channel", "android_channel", "channel", "named_user"]
    /// Selectors of other platforms match no device inside an operator, and the other parts still count.
    private static let foreign = [
        "amazon_channel", "open_channel", "sms_id", "sms_sender", "msisdn", "email", "email_address",
        "apid", "wns",
    ]
    /// Airship's selectors on data that Lamplighter does not keep. Leaving one out would widen or empty the audience.
    private static let unserved = [
        "segment", "static_list", "subscription_list", "subscription_lists", "attribute", "activity", "location",
        "triggered", "alias", "device_token",
    ]

    /// `Audience.maximumDepth` bounds the recursion, and the document's own depth does so first.
    private static func selector(_ value: JSONValue, depth: Int, _ walk: inout Walk) throws(JSONError) -> Audience {
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
        if let (key, part) = object.members.first(where: { foreign.contains($0.key) || walk.lacks($0.key) }) {
            guard depth > 0 else {
                throw part.keyError("selects devices of another platform than this app sends to")
            }
            if !walk.foreign.contains(key) { walk.foreign.append(key) }
            return .nobody
        }
        if let part = object.members.first(where: { unserved.contains($0.key) })?.value {
            throw part.keyError(
                "is a selector of Airship's that Lamplighter does not serve; known: \(known.joined(separator: ", "))")
        }
        try object.refuseUnknownKeys(known: known + ["OR", "AND", "NOT", "group"])
        let keys = object.members.map(\.key).filter { $0 != "group" }
        guard keys.count == 1, let key = keys.first, let operand = object[key] else {
            let found = keys.isEmpty ? "none" : keys.joined(separator: ", ")
            throw value.error("must have exactly one of \(known.joined(separator: ", ")); it has \(found)")
        }
        if key != "tag", let group = object["group"] { throw group.keyError("is allowed beside `tag` only") }
        // Airship's documents write the operators in capitals.
        switch key {
        case "or", "OR": return .anyOf(try parts(operand, depth: depth, &walk))
        case "and", "AND": return .allOf(try parts(operand, depth: depth, &walk))
        case "not", "NOT":
            let part = try selector(operand, depth: depth + 1, &walk)
            walk.isForeignNegated = walk.isForeignNegated || part == .nobody
            return part == .nobody ? .all : .not(part)
        default: return try anyOf(key, operand, group: object["group"], depth: depth, &walk)
        }
    }

    private static func parts(_ value: JSONValue, depth: Int, _ walk: inout Walk) throws(JSONError) -> [Audience] {
        let values = try value.array()
        guard !values.isEmpty else { throw value.error("must hold at least one selector") }
        return try values.map { (value) throws(JSONError) in try selector(value, depth: depth + 1, &walk) }
    }

    /// Reads the string of a selector, or a list of strings, one of which has to match.
    private static func anyOf(
        _ key: String, _ value: JSONValue, group: JSONValue?, depth: Int, _ walk: inout Walk
    ) throws(JSONError) -> Audience {
        let group = try group?.text("group") ?? Audience.deviceGroup
        let values = value.kind == .array ? try value.array() : [value]
        guard !values.isEmpty else { throw value.error("must hold at least one string") }
        walk.leaves += values.count
        guard walk.leaves <= Audience.maximumLeaves else {
            throw value.error(
                "makes more than \(Audience.maximumLeaves) tags, channels and named users in one audience")
        }
        guard values.count == 1 || depth < Audience.maximumDepth else {
            throw value.error("nests selectors deeper than \(Audience.maximumDepth) levels")
        }
        let found = try values.map { (value) throws(JSONError) -> Audience in
            switch key {
            case "tag": return .tag(try value.text("tag"), group: group)
            case "named_user": return .namedUser(try value.text("named_user"))
            default: return .channel(try value.channelID())
            }
        }
        return found.count == 1 ? found[0] : .or(found)
    }
}

extension Audience {
    /// The audience that selectors of other platforms stand for.
    fileprivate static var nobody: Audience { .or([]) }
    private var isNobody: Bool { if case .or(let parts) = self { parts.isEmpty } else { false } }

    /// Drops the parts that match no device. The result is everybody if one part is everybody.
    fileprivate static func anyOf(_ parts: [Audience]) -> Audience {
        if parts.contains(.all) { return .all }
        let some = parts.filter { !$0.isNobody }
        return some.isEmpty ? .nobody : .or(some)
    }

    /// Matches no device if one part matches none. `and` of only `all` is `all`.
    fileprivate static func allOf(_ parts: [Audience]) -> Audience {
        if parts.contains(where: \.isNobody) { return .nobody }
        return parts.allSatisfy { $0 == .all } ? .all : .and(parts)
    }
}
