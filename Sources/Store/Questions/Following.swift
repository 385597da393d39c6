public import LiveActivity

/// A place where a channel has a live token.
public struct Following: Sendable, Hashable {
    public var place: TokenPlace
    public var token: [UInt8]
    public var platform: Platform
    /// Epoch ms.
    public var registeredAt: Int64
    public var startedAt: Int64
    /// Why a push might not go to it now.
    let marks: Set<SendBlock>

    /// A push waits for its retry.
    public var waits: Bool { marks.contains(.waiting) }
    /// Nothing is sent to it, because the prune guard does not believe that it is dead.
    public var isQuarantined: Bool { marks.contains(.quarantined) }
    /// The token is of the app's other APNs environment.
    public var isElsewhere: Bool { marks.contains(.elsewhere) }
}

extension Store {
    /// The names that a channel follows on a platform, with the tokens as the names keep them.
    public func names(
        _ app: AppKey, followedBy channel: ChannelID, on platform: Platform
    ) async throws(StoreError) -> [ActivityName: [UInt8]] {
        var names: [ActivityName: [UInt8]] = [:]
        for case .activity(let name) in try await followings.places(app, channel.stored) {
            let (page, _) = try await tokens.lookup(app, .activity(name), [channel.stored])
            if page.entries.first?.platform == platform { names[name] = Array(page.token(0)) }
        }
        return names
    }

    /// The live tokens of a channel, and the places that it no longer follows, as long as they are remembered. Both by
    /// place: attributes types, then names, in byte order. And the platform on which it had an address within a year.
    func followings(
        _ app: AppKey, _ channel: ChannelID
    ) async throws(StoreError) -> (live: [Following], former: [FormerFollowing], addressPlatform: Platform?) {
        let stored = channel.stored
        var (live, former): ([Following], [FormerFollowing]) = ([], [])
        let places = try await followings.places(app, stored)
        for place in places {
            let (page, counts) = try await tokens.lookup(app, place, [stored])
            let event: ActivityEvent = place.isForStartTokens ? .start : .update
            guard let entry = page.entries.first else {
                let presence = try await tokens.past(keys.place(app, place), stored)
                if presence != .unknown { former.append(FormerFollowing(place: place, presence: presence)) }
                continue
            }
            let marks = try await tokens.marks(app, place, page, counts, for: event)?[0] ?? []
            live.append(
                Following(
                    place: place, token: Array(page.token(0)), platform: entry.platform,
                    registeredAt: entry.registeredAt,
                    startedAt: entry.startedAt, marks: marks))
        }
        return (live, former, places.lazy.compactMap(\.addressPlatform).first)
    }
}

/// A place where a channel had a token, for some hours after that.
public struct FormerFollowing: Sendable, Hashable {
    public var place: TokenPlace
    /// How it ended: `left`, `pruned` or `over`.
    public var presence: Explanation.Presence
}
