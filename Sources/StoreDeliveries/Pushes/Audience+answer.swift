public import LiveActivity
import StrictJSON

extension Audience {
    /// In the form of a publish.
    public var answer: RawJSON { RawJSON(checked: json.bytes) }

    private var json: JSON {
        switch self {
        case .all: "all"
        case .tag(let tag, let group): ["tag": .string(tag), "group": .string(group)]
        case .channel(let id): ["channel": .string(id.description)]
        case .namedUser(let user): ["named_user": .string(user)]
        case .platform(let platform): ["device_type": .string(platform.name)]
        case .or(let parts): ["or": .array(parts.map(\.json))]
        case .and(let parts): ["and": .array(parts.map(\.json))]
        case .not(let part): ["not": part.json]
        }
    }
}
