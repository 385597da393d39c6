import Answers
import LiveActivity
import Store

extension ChannelStory {
    /// - Parameter platforms: of the app
    func answer(_ channel: ChannelID, _ platforms: Set<Platform>, now: Int64) -> ShownChannelAnswer {
        let names = tokens.filter { !$0.place.isForStartTokens }
        let types = tokens.filter(\.place.isForStartTokens)
        return ShownChannelAnswer(
            listed: Self.answer(
                channel,
                Self.platform(addressPlatform, platforms, isKnown: !tokens.isEmpty || !former.isEmpty), record,
                hasTokens: !tokens.isEmpty),
            liveActivities: names.map { $0.answer(now) },
            startTokens: types.map { StartTokenAnswer(attributesType: $0.place.text, held: $0.held(now)) },
            former: former.compactMap(\.answer))
    }

    /// The platform of a channel: the app's only platform, or the one on which the channel had an address, or iOS.
    /// - Parameters:
    ///   - address: the platform on which the channel had an address
    ///   - platforms: of the app
    ///   - isKnown: whether the channel has or had a token
    /// - Returns: nil if nothing says it
    static func platform(_ address: Platform?, _ platforms: Set<Platform>, isKnown: Bool) -> Platform? {
        platforms.count == 1 ? platforms.first : address ?? (isKnown ? .ios : nil)
    }

    /// The answer of Airship's API about a channel. Its clients read times without zone and fraction.
    /// - Parameter platform: of the channel; nil: it is not known
    static func answer(
        _ channel: ChannelID, _ platform: Platform?, _ record: ChannelRecord?, hasTokens: Bool
    ) -> ListedChannelAnswer {
        var groups = record?.tags ?? [:]
        let device = groups.removeValue(forKey: "device") ?? []
        return ListedChannelAnswer(
            channelID: channel.description, deviceType: platform?.name, optIn: hasTokens,
            created: record?.created.map(TimeText.plainText),
            lastRegistration: record?.seen.map(TimeText.plainText), namedUserID: record?.namedUser, tags: device,
            tagGroups: groups, hasIOS18: record?.hasIOS18 ?? false)
    }
}

extension Following {
    func answer(_ now: Int64) -> FollowingAnswer { FollowingAnswer(name: place.text, held: held(now)) }

    fileprivate func held(_ now: Int64) -> HeldToken {
        // Enough to compare with a device's own log, and useless for anything else.
        let beginning = String((platform.body.text(token[...])?.text ?? "").prefix(platform == .ios ? 8 : 4))
        return HeldToken(
            token: beginning + "…", registeredAt: TimeText.text(registeredAt),
            ageSeconds: Int(max(0, now - registeredAt) / 1_000),
            startedAt: place.isForStartTokens || platform.hasOneAddress ? nil : TimeText.text(startedAt),
            state: isQuarantined ? "quarantined" : waits ? "waiting" : "following", otherEnvironment: isElsewhere)
    }
}

extension FormerFollowing {
    fileprivate var answer: FormerAnswer? {
        let (state, time): (String, Int64)
        switch presence {
        case .left(let at): (state, time) = ("left", at)
        case .pruned(let at): (state, time) = ("pruned", at)
        case .over(let registeredAt, _): (state, time) = ("over", registeredAt)
        case .follows, .unknown: return nil
        }
        let isType = place.isForStartTokens
        return FormerAnswer(
            name: isType ? nil : place.text, attributesType: isType ? place.text : nil, state: state,
            at: TimeText.text(time))
    }
}

extension TokenPlace {
    /// The name, or the attributes type of start tokens.
    fileprivate var text: String {
        switch self {
        case .activity(let activity): activity.rawValue
        case .startTokens: typeText ?? ""
        }
    }
}

extension ListedChannel {
    /// - Parameter platforms: of the app
    func answer(_ platforms: Set<Platform>) -> ListedChannelAnswer {
        ChannelStory.answer(
            channel, ChannelStory.platform(addressPlatform, platforms, isKnown: places > 0), record,
            hasTokens: places > 0)
    }
}
