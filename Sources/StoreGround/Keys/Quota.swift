/// A kind of thing of which an app may have a limited number.
public enum Quota: String, Sendable, Hashable, CaseIterable {
    case names, channels, followers, tags
    case startTokens = "start_tokens"

    public var setting: String { "limits.\(rawValue)" }
}
