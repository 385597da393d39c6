/// Whom a push is for, among the channels that follow its name. Airship's selector language.
public indirect enum Audience: Hashable, Sendable {
    case all
    /// A tag in a group; Airship's ungrouped tags are the group `device`.
    case tag(String, group: String)
    case channel(ChannelID)
    case namedUser(String)
    case or([Audience])
    case and([Audience])
    case not(Audience)

    public static let deviceGroup = "device"

    /// Selectors nested deeper than this are refused at acceptance.
    public static let maximumDepth = 16
    /// Leaves (tags, channels, named users) of one audience; bounds the round trip of a page.
    public static let maximumLeaves = 1_000
}

/// Membership that has to be looked up for a page of channels: one set in Redis each.
public enum AudienceSet: Hashable, Sendable {
    case tag(String, group: String)
    case namedUser(String)

    /// By bytes: the keys in Redis are two where Unicode sees the same text written in two ways.
    public static func == (one: AudienceSet, other: AudienceSet) -> Bool {
        switch (one, other) {
        case (.tag(let tag, let group), .tag(let otherTag, let otherGroup)):
            haveSameBytes(tag, otherTag) && haveSameBytes(group, otherGroup)
        case (.namedUser(let name), .namedUser(let otherName)): haveSameBytes(name, otherName)
        default: false
        }
    }
}

extension Audience {
    /// The sets to be asked, each once, in order of first appearance.
    public var sets: [AudienceSet] {
        var found: [AudienceSet] = []
        var seen: Set<AudienceSet> = []
        func visit(_ audience: Audience) {
            switch audience {
            case .all, .channel: break
            case .tag(let tag, let group):
                if seen.insert(.tag(tag, group: group)).inserted { found.append(.tag(tag, group: group)) }
            case .namedUser(let name):
                if seen.insert(.namedUser(name)).inserted { found.append(.namedUser(name)) }
            case .or(let parts), .and(let parts): parts.forEach(visit)
            case .not(let part): visit(part)
            }
        }
        visit(self)
        return found
    }

    /// Whether one channel belongs. `isMember` answers for the sets listed by `sets`.
    public func matches(_ channel: ChannelID, isMember: (AudienceSet) -> Bool) -> Bool {
        switch self {
        case .all: true
        case .tag(let tag, let group): isMember(.tag(tag, group: group))
        case .namedUser(let name): isMember(.namedUser(name))
        case .channel(let id): id == channel
        case .or(let parts): parts.contains { $0.matches(channel, isMember: isMember) }
        case .and(let parts): parts.allSatisfy { $0.matches(channel, isMember: isMember) }
        case .not(let part): !part.matches(channel, isMember: isMember)
        }
    }

    /// Whether everyone in `other` is surely in `self` too. False means "not known to".
    public func covers(_ other: Audience) -> Bool { self == .all || self == other }
}
