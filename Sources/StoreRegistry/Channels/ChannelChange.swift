public import LiveActivity

/// The changes of a channel in one line of a bulk call.
public struct ChannelChange: Sendable, Hashable {
    public enum NamedUser: Sendable, Hashable {
        case unchanged
        case removed
        case user(String)
    }

    public var channel: ChannelID
    public var tags: TagChange
    public var namedUser: NamedUser

    public init(channel: ChannelID, tags: TagChange = TagChange(), namedUser: NamedUser = .unchanged) {
        self.channel = channel
        self.tags = tags
        self.namedUser = namedUser
    }

    package var operations: [ChannelOperation] {
        let user: [ChannelOperation] =
            switch namedUser {
            case .unchanged: []
            case .removed: [.set(prefix: "u:", [])]
            case .user(let user): [.set(prefix: "u:", [.namedUser(user)])]
            }
        return ChannelOperation.list(tags) + user
    }
}

/// Tags by group; Airship's ungrouped tags are group `device`. `set` is applied first, then `add`, then `remove`.
public struct TagChange: Sendable, Hashable {
    public var add: [ExactText: Set<ExactText>] = [:]
    public var remove: [ExactText: Set<ExactText>] = [:]
    /// Replaces the whole group.
    public var set: [ExactText: Set<ExactText>] = [:]
    public init() {}

    public var isEmpty: Bool { add.isEmpty && remove.isEmpty && set.isEmpty }
}
