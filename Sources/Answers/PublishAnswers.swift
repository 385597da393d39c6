public import LiveActivity
public import StrictJSON

/// The words for a publish that is held.
enum Held {
    static let about: Shape =
        "What it waits for, in a word: nothing is sent before. Absent: it waits for nothing."
    static let aboutID: Shape = "The id under which it waits."
}

/// The pushes that the gateway accepted.
public struct AcceptedAnswer: WarnedAnswer {
    public let operationID: String
    public let pushIDs, messageIDs, contentURLs: [String]
    public let states: [String]?
    public let held, heldID: String?
    public var warned: AnswerWarnings

    public init(
        operationID: String, pushIDs: [String], messageIDs: [String], contentURLs: [String], states: [String]? = nil,
        held: String? = nil, heldID: String? = nil, warned: AnswerWarnings = AnswerWarnings()
    ) {
        (self.operationID, self.pushIDs, self.states) = (operationID, pushIDs, states)
        (self.messageIDs, self.contentURLs) = (messageIDs, contentURLs)
        (self.held, self.heldID, self.warned) = (held, heldID, warned)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == AcceptedAnswer {
        try fields.ok()
        operationID = try fields("operation_id", \.operationID, .operation)
        pushIDs = try fields("push_ids", \.pushIDs, .list(.pushID))
        messageIDs = try fields("message_ids", \.messageIDs)
        contentURLs = try fields("content_urls", \.contentURLs)
        states = try fields.optional(
            "states", \.states,
            .list(.pushState, "Of a repetition: the state of each push by now, in the order of `push_ids`."))
        held = try fields.optional("held", \.held, Held.about)
        heldID = try fields.optional("held_id", \.heldID, Held.aboutID)
        warned = try fields.part(\.warned)
    }
}

/// The part of a dry run's push that one platform gets.
public struct PlatformPreviewAnswer: AnswerBody {
    public let tokens: Int?
    public let payloadBytes, payloadLimit: Int
    public let payload: RawJSON

    public init(tokens: Int?, payloadBytes: Int, payloadLimit: Int, payload: RawJSON) {
        (self.tokens, self.payloadBytes) = (tokens, payloadBytes)
        (self.payloadLimit, self.payload) = (payloadLimit, payload)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == PlatformPreviewAnswer {
        tokens = try fields.optional(
            "tokens", \.tokens, "Its part of `tokens` or `start_tokens`. On Android: channels, each with one address.")
        payloadBytes = try fields(
            "payload_bytes", \.payloadBytes, "On Android: keys and values of the data, with the longest channel id.")
        payloadLimit = try fields("payload_limit", \.payloadLimit, .only([4096, 5120]))
        payload = try fields(
            "payload", \.payload, "What APNs would get, or FCM: there without the address and the ids.")
    }
}

/// A dry run's push on each platform that it is for.
public struct PlatformPreviewsAnswer: AnswerBody {
    public private(set) var byPlatform: [Platform: PlatformPreviewAnswer] = [:]

    public init(_ byPlatform: [Platform: PlatformPreviewAnswer]) { self.byPlatform = byPlatform }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == PlatformPreviewsAnswer {
        for platform in Platform.all {
            byPlatform[platform] = try fields.optional(platform.name) { $0.byPlatform[platform] }
        }
    }
}

/// The effects that one push of a dry run would have.
public struct PreviewAnswer: AnswerBody {
    public let name, event: String
    public let tokens, startTokens: Int?
    public let complete: Bool?
    public let broadcastChannels: Int?
    public let payloadBytes, payloadLimit: Int
    public let payload: RawJSON
    /// Nil: the push is for iOS alone.
    public let platforms: PlatformPreviewsAnswer?
    public let held: String?

    public init(
        name: String, event: String, tokens: Int?, startTokens: Int?, complete: Bool?, broadcastChannels: Int?,
        payloadBytes: Int, payloadLimit: Int, payload: RawJSON, platforms: PlatformPreviewsAnswer? = nil,
        held: String? = nil
    ) {
        (self.name, self.event, self.tokens, self.startTokens) = (name, event, tokens, startTokens)
        (self.complete, self.broadcastChannels) = (complete, broadcastChannels)
        (self.payloadBytes, self.payloadLimit) = (payloadBytes, payloadLimit)
        (self.payload, self.platforms, self.held) = (payload, platforms, held)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == PreviewAnswer {
        name = try fields("name", \.name, .name)
        event = try fields("event", \.event, .event)
        tokens = try fields.optional("tokens", \.tokens, "Tokens of the audience that follow the name.")
        startTokens = try fields.optional(
            "start_tokens", \.startTokens, "Of a start: start tokens without a card of the name.")
        // Generators of clients know no enumeration of flags.
        complete = try fields.optional(
            "complete", \.complete, "False, or absent. False: not all tokens could be counted in time.")
        broadcastChannels = try fields.optional("broadcast_channels", \.broadcastChannels, .only([0, 1]))
        payloadBytes = try fields("payload_bytes", \.payloadBytes)
        payloadLimit = try fields("payload_limit", \.payloadLimit, .only([4096, 5120]))
        payload = try fields("payload", \.payload, "What APNs would get, or FCM if the push is for Android alone.")
        platforms = try fields.optional(
            "platforms", \.platforms, "The push on each platform. Absent: it is for iOS alone.")
        held = try fields.optional("held", \.held, Held.about)
    }
}

/// The answer to a dry run.
public struct DryRunAnswer: WarnedAnswer {
    public let pushes: [PreviewAnswer]
    public var warned: AnswerWarnings

    public init(pushes: [PreviewAnswer], warned: AnswerWarnings = AnswerWarnings()) {
        (self.pushes, self.warned) = (pushes, warned)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == DryRunAnswer {
        try fields.ok()
        pushes = try fields("pushes", \.pushes)
        warned = try fields.part(\.warned)
    }
}

/// The answer to a call that changes something and has nothing to tell of it.
public struct DoneAnswer: WarnedAnswer {
    public var warned: AnswerWarnings

    public init(warned: AnswerWarnings = AnswerWarnings()) {
        self.warned = warned
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == DoneAnswer {
        try fields.ok()
        warned = try fields.part(\.warned)
    }
}

/// The platforms' parts of a push's body. The console and `publish` say the same to all of them.
public enum PushBlocks {
    /// The member of a platform's block that says what a card shows.
    public static func key(_ platform: Platform) -> String { platform == .android ? "live_update" : "live_activity" }

    /// The place of this member in a push.
    public static func path(on platform: Platform) -> String { "notification.\(platform).\(key(platform))" }

    /// - Parameters:
    ///   - activity: the object of the Live Activity
    ///   - type: the type of a card whose app knows no attributes
    /// - Returns: `device_types` and `notification`
    public static func json(
        _ activity: JSON, type: String?, on platforms: some Sequence<Platform>
    ) -> (types: JSON, notification: JSON) {
        let members: [JSON.Member] = if case .object(let members) = activity { members } else { [] }
        let shared = ["name", "event", "content_state", "timestamp", "dismissal_date"]
        var update = members.filter { shared.contains($0.key) }
        if let type { update.append(JSON.Member("type", .string(type))) }
        let isLow = members.contains(JSON.Member("priority", .integer(5)))
        let blocks: [(platform: Platform, block: JSON)] = [
            (.ios, .fields([key(.ios): activity])),
            (.android, .fields([key(.android): .object(update), "delivery_priority": isLow ? "normal" : "high"])),
        ]
        let own = blocks.filter { platforms.contains($0.platform) }
        return (
            .array(own.map { .string($0.platform.name) }),
            .object(own.map { JSON.Member($0.platform.name, $0.block) })
        )
    }
}

/// A push as somebody posted it, in the words of a Live Activity. So commands and the console read one form of it.
public struct PostedPush {
    private typealias Block = (platform: Platform, block: JSONObject, part: JSONObject)

    /// The platforms that it is for, with what it says to each.
    private let blocks: [Block]
    /// Its name, its event and what the cards show, as the first of its platforms gets them.
    public let activity: JSONObject

    /// Nil: it has no part for any platform.
    public init?(_ push: JSONObject) {
        let notification = push.object("notification")
        let types = Self.types(push["device_types"])
        blocks = Platform.all.compactMap { platform -> Block? in
            guard types?.contains(platform.name) ?? true, let block = notification?.object(platform.name),
                let part = block.object(PushBlocks.key(platform))
            else { return nil }
            return (platform, block, part)
        }
        guard let first = blocks.first, let activity = Self.activity(first) else { return nil }
        self.activity = activity
    }

    /// The platforms whose devices get it.
    public var platforms: [Platform] { blocks.map(\.platform) }

    /// The members that a push of `activity` to the same platforms would not have.
    public var lost: [(platform: Platform, key: String)] {
        let members = activity.members.map { JSON.Member($0.key, JSON($0.value)) }
        let type = activity.text("event") == "start" ? activity.text("attributes_type") : nil
        let json = PushBlocks.json(.object(members), type: type, on: platforms).notification
        let notification = try? JSONDocument(json.bytes).root.object()
        return blocks.flatMap { platform, block, part in
            let key = PushBlocks.key(platform)
            let written = notification?.object(platform.name)?.object(key)
            let changed = part.members.filter { !Self.haveSameText($0.value, written?[$0.key]) }.map(\.key)
            return (changed + block.members.map(\.key).filter { ![key, Self.priority].contains($0) })
                .map { (platform, $0) }
        }
    }

    private static let priority = "delivery_priority"

    /// Nil: all.
    private static func types(_ value: JSONValue?) -> [String]? {
        let all = value.flatMap { try? $0.array() } ?? [value].compactMap(\.self)
        let types = all.compactMap { try? $0.string() }
        return types.isEmpty || types.contains("all") ? nil : types
    }

    private static func activity(_ first: Block) -> JSONObject? {
        guard first.platform.hasOwnContent else { return first.part }
        let members = first.part.members.map {
            JSON.Member($0.key == "type" ? "attributes_type" : $0.key, JSON($0.value))
        }
        let priority: JSON = first.block.text(Self.priority) == "high" ? 10 : 5
        let json = JSON.object(members + [JSON.Member("priority", priority)])
        return try? JSONDocument(json.bytes).root.object()
    }

    private static func haveSameText(_ one: JSONValue, _ other: JSONValue?) -> Bool {
        other.map { $0.raw.elementsEqual(one.raw) } ?? false
    }
}
