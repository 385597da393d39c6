/// A membership to look up for a page of channels. Each is one set in Redis.
public enum AudienceSet: Hashable, Sendable {
    case tag(String, group: String)
    case namedUser(String)
    /// Channels whose device is known to have iOS 18 or later. Their activities can take updates from a broadcast
    /// channel. No audience asks for them.
    case iOS18

    /// Compares bytes: two spellings that Unicode calls equivalent are two keys in Redis.
    public static func == (one: AudienceSet, other: AudienceSet) -> Bool {
        switch (one, other) {
        case (.tag(let tag, let group), .tag(let otherTag, let otherGroup)):
            haveSameBytes(tag, otherTag) && haveSameBytes(group, otherGroup)
        case (.namedUser(let name), .namedUser(let otherName)): haveSameBytes(name, otherName)
        case (.iOS18, .iOS18): true
        default: false
        }
    }
}
