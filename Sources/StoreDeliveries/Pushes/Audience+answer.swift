public import LiveActivity
import StrictJSON

extension Audience {
    /// In the form of a publish, with `deviceTypes` beside it.
    public var answer: RawJSON { RawJSON(checked: parts.audience.json.bytes) }
    /// Nil: the devices of all platforms.
    public var deviceTypes: [String]? { parts.platforms?.map(\.name) }

    private var json: JSON {
        switch self {
        // A publish has its platforms beside the audience.
        case .all, .platform: "all"
        case .tag(let tag, let group): ["tag": .string(tag), "group": .string(group)]
        case .channel(let id): ["channel": .string(id.description)]
        case .namedUser(let user): ["named_user": .string(user)]
        case .or(let parts): ["or": .array(parts.map(\.json))]
        case .and(let parts): ["and": .array(parts.map(\.json))]
        case .not(let part): ["not": part.json]
        }
    }
}
