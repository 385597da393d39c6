package import LiveActivity

extension TokenPlace {
    /// Before an attributes type. No activity's name begins with a control character.
    private static let startTokensPrefix = "\u{1}"

    /// The form in keys and in members of sorted sets.
    package var stored: String {
        switch self {
        case .activity(let name): name.rawValue
        case .startTokens(let type): Self.startTokensPrefix + type
        }
    }

    package init(stored text: String) throws(IdentifierError) {
        if let type = text.rest(behind: Self.startTokensPrefix) {
            self = .startTokens(of: type)
            if addressPlatform == nil { _ = try checkedAttributesType(type) }
        } else {
            self = .activity(try ActivityName(text))
        }
    }
}
