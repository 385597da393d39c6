/// Where a channel's token is registered: under an activity's name, or as a push-to-start token under the attributes
/// type whose activities it starts.
public enum TokenPlace: Hashable, Sendable {
    case activity(ActivityName)
    case startTokens(of: String)

    public var isForStartTokens: Bool { if case .startTokens = self { true } else { false } }

    /// Compares bytes, as Redis compares keys.
    public static func == (one: TokenPlace, other: TokenPlace) -> Bool {
        switch (one, other) {
        case (.activity(let name), .activity(let otherName)): name == otherName
        case (.startTokens(let type), .startTokens(let otherType)): haveSameBytes(type, otherType)
        default: false
        }
    }
}
