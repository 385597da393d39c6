/// Where a channel's token is registered: under an activity's name, or as a push-to-start token under the attributes
/// type whose activities it starts.
public enum TokenPlace: Hashable, Sendable {
    case activity(ActivityName)
    case startTokens(of: String)

    public var isForStartTokens: Bool { if case .startTokens = self { true } else { false } }

    /// Before a platform's word. No attributes type begins with a control character.
    private static let addressesPrefix = "\u{2}"

    /// The addresses of a platform's installs, each kept once. They are start tokens too: a start goes to all of them.
    public static func addresses(on platform: Platform) -> TokenPlace { .startTokens(of: addressesType(platform)) }
    /// Stands for the attributes type of such a place.
    public static func addressesType(_ platform: Platform) -> String { addressesPrefix + platform.name }
    /// The platform whose addresses are kept here. Nil: another place.
    public var addressPlatform: Platform? {
        guard case .startTokens(let type) = self else { return nil }
        return type.rest(behind: Self.addressesPrefix).flatMap { Platform(name: $0) }
    }

    /// Before a platform's word, where a caller writes an attributes type.
    private static let addressesMark = "@"

    /// The attributes type as callers write it; `@android` for the addresses on Android. Nil: no such place.
    public var typeText: String? {
        guard case .startTokens(let type) = self else { return nil }
        return addressPlatform.map { "\(Self.addressesMark)\($0)" } ?? type
    }

    /// Reads such a text.
    public init(typeText text: String) throws(IdentifierError) {
        if let platform = text.rest(behind: Self.addressesMark).flatMap({ Platform(name: $0) }) {
            self = .addresses(on: platform)
        } else {
            self = .startTokens(of: try checkedAttributesType(text))
        }
    }

    /// Compares bytes, as Redis compares keys.
    public static func == (one: TokenPlace, other: TokenPlace) -> Bool {
        switch (one, other) {
        case (.activity(let name), .activity(let otherName)): name == otherName
        case (.startTokens(let type), .startTokens(let otherType)): haveSameBytes(type, otherType)
        default: false
        }
    }
}
