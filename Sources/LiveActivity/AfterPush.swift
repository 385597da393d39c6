/// The push that a publish has to come after, because its publisher has seen that push as the newest one of the name.
public enum AfterPush: Sendable, Hashable, CustomStringConvertible {
    /// Any push, or none: the publish has no condition.
    case any
    /// The name has no push that counts.
    case nothing
    case push(PushID)

    /// Reads `any`, `none` or a push id. Nil: the text is something else.
    public init?(_ text: String) {
        switch text {
        case "any": self = .any
        case "none": self = .nothing
        default:
            guard let id = PushID(text) else { return nil }
            self = .push(id)
        }
    }

    /// The condition for a publish whose publisher saw this push as the newest one. Nil: there was none.
    public init(newest: PushID?) { self = newest.map(AfterPush.push) ?? .nothing }

    /// The word of a condition, as Redis and the API have it. Nil: there is no condition.
    public var stored: String? {
        switch self {
        case .any: nil
        case .nothing: "none"
        case .push(let id): id.description
        }
    }

    public var description: String { stored ?? "any" }
}
