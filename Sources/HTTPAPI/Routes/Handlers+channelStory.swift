import LiveActivity
import Store
import StrictJSON

extension Handlers {
    /// A channel in Airship's form, and what it follows.
    func channel(_ call: Call) async throws -> Answer {
        let channel = try call.channel()
        guard let story = try await store.story(call.app.key, channel) else {
            throw APIError(404, "This channel is not known: it was never named, or is forgotten.", code: 40401)
        }
        return Answer(200, ["ok": true, "channel": story.json(channel, now: store.time.now())])
    }
}

extension ChannelStory {
    func json(_ channel: ChannelID, now: Int64) -> JSON {
        let names = tokens.filter { !$0.place.isForStartTokens }
        let types = tokens.filter(\.place.isForStartTokens)
        return .object(
            Self.members(channel, record, hasTokens: !tokens.isEmpty) + [
                JSON.Member("live_activities", .array(names.map { $0.json("name", now) })),
                JSON.Member("start_tokens", .array(types.map { $0.json("attributes_type", now) })),
                JSON.Member("former", .array(former.compactMap(\.json))),
            ])
    }

    /// What Airship's API says about a channel. Its clients read times without zone and fraction.
    static func members(_ channel: ChannelID, _ record: ChannelRecord?, hasTokens: Bool) -> [JSON.Member] {
        let groups = record?.tags.sorted { $0.key < $1.key } ?? []
        let device = groups.first { "\($0.key)" == "device" }?.value ?? []
        let others = groups.filter { "\($0.key)" != "device" }
            .map { JSON.Member("\($0.key)", .array($0.value.map(JSON.string))) }
        let fields: [(String, JSON?)] = [
            ("channel_id", .string(channel.description)), ("device_type", "ios"), ("installed", true),
            ("opt_in", .bool(hasTokens)), ("created", record?.created.map { .string(TimeText.plainText($0)) }),
            ("last_registration", record?.seen.map { .string(TimeText.plainText($0)) }),
            ("named_user_id", record?.namedUser.map(JSON.string) ?? JSON.null),
            ("tags", .array(device.map(JSON.string))), ("tag_groups", .object(others)),
            ("ios_18", .bool(record?.hasIOS18 ?? false)),
        ]
        return fields.compactMap { name, value in value.map { JSON.Member(name, $0) } }
    }
}

extension Following {
    /// - Parameter key: of the place
    func json(_ key: String, _ now: Int64) -> JSON {
        // Enough to compare with a device's own log, and useless for anything else.
        let beginning = Hex.encode(token.prefix(4)) + "…"
        return JSON.fields([
            key: .string(place.text), "token": .string(beginning),
            "registered_at": .string(TimeText.text(registeredAt)),
            "age_seconds": .integer(Int(max(0, now - registeredAt) / 1_000)),
            "started_at": place.isForStartTokens ? nil : .string(TimeText.text(startedAt)),
            "state": .string(isQuarantined ? "quarantined" : waits ? "waiting" : "following"),
            "other_environment": .bool(isElsewhere),
        ])
    }
}

extension FormerFollowing {
    fileprivate var json: JSON? {
        let (state, time): (JSON, Int64)
        switch presence {
        case .left(let at): (state, time) = ("left", at)
        case .pruned(let at): (state, time) = ("pruned", at)
        case .over(let registeredAt): (state, time) = ("over", registeredAt)
        case .follows, .unknown: return nil
        }
        let key = place.isForStartTokens ? "attributes_type" : "name"
        return JSON.fields([key: .string(place.text), "state": state, "at": .string(TimeText.text(time))])
    }
}

extension TokenPlace {
    /// The name, or the attributes type of start tokens.
    fileprivate var text: String {
        switch self {
        case .activity(let activity): activity.rawValue
        case .startTokens(let type): type
        }
    }
}
