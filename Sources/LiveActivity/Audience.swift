/// The condition by which a push chooses among the channels that follow its name: Airship's selector language.
public indirect enum Audience: Hashable, Sendable {
    case all
    /// A tag in a group; Airship's ungrouped tags are the group `device`.
    case tag(String, group: String)
    case channel(ChannelID)
    case namedUser(String)
    /// The devices of a platform.
    case platform(Platform)
    case or([Audience])
    case and([Audience])
    case not(Audience)

    /// This audience among the devices of some platforms, for an app that has `all` of them.
    public func on(_ platforms: Set<Platform>, of all: Set<Platform>) -> Audience {
        if platforms.isSuperset(of: all) { return self }
        let parts = Platform.all.filter(platforms.contains).map(Audience.platform)
        let some: Audience = parts.count == 1 ? parts[0] : .or(parts)
        return self == .all ? some : .and([some, self])
    }

    /// The audience and the platforms from which `on` made this one. Nil: all platforms of the app.
    public var parts: (audience: Audience, platforms: [Platform]?) {
        if let platforms = platformsAlone { return (.all, platforms) }
        if case .and(let parts) = self, parts.count == 2, let platforms = parts[0].platformsAlone {
            return (parts[1], platforms)
        }
        return (self, nil)
    }

    private var platformsAlone: [Platform]? {
        switch self {
        case .platform(let platform): return [platform]
        case .or(let parts):
            let platforms = parts.compactMap { part in if case .platform(let one) = part { one } else { nil } }
            return !parts.isEmpty && platforms.count == parts.count ? platforms : nil
        default: return nil
        }
    }

    public static let deviceGroup = "device"
    /// Acceptance refuses selectors that are nested deeper than this.
    public static let maximumDepth = 16
    /// The most leaves (tags, channels, named users) of one audience. The limit bounds the round trip of a page.
    public static let maximumLeaves = 1_000

    /// Whether it names a single channel.
    public var isOneChannel: Bool { if case .channel = self { true } else { false } }

    /// The sets to look up, each once, in order of first appearance.
    public var sets: [AudienceSet] {
        func all(_ audience: Audience) -> [AudienceSet] {
            switch audience {
            case .all, .channel, .platform: []
            case .tag(let tag, let group): [.tag(tag, group: group)]
            case .namedUser(let name): [.namedUser(name)]
            case .or(let parts), .and(let parts): parts.flatMap(all)
            case .not(let part): all(part)
            }
        }
        var seen: Set<AudienceSet> = []
        return all(self).filter { seen.insert($0).inserted }
    }

    /// Whether a channel is in the audience.
    /// - Parameters:
    ///   - platform: of the channel
    ///   - isMember: says whether the channel is in one of the `sets`
    public func matches(
        _ channel: ChannelID, on platform: Platform = .ios, isMember: (AudienceSet) -> Bool
    ) -> Bool {
        switch self {
        case .all: true
        case .tag(let tag, let group): isMember(.tag(tag, group: group))
        case .namedUser(let name): isMember(.namedUser(name))
        case .channel(let id): id == channel
        case .platform(let one): one == platform
        case .or(let parts): parts.contains { $0.matches(channel, on: platform, isMember: isMember) }
        case .and(let parts): parts.allSatisfy { $0.matches(channel, on: platform, isMember: isMember) }
        case .not(let part): !part.matches(channel, on: platform, isMember: isMember)
        }
    }
}
