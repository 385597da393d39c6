public import LiveActivity
import StoreGround

/// The facts about a push that a worker needs.
public struct PushRecord: Sendable {
    public var id: PushID
    public var event: ActivityEvent
    public var priority: PushPriority
    public var audience: Audience
    public var sequence: Int
    public var isSupersedable: Bool
    /// An `end` without a content state.
    public var isStateless = false
    /// As accepted, epoch seconds.
    public var timestamp = 0
    /// On platforms whose devices order states by seconds: a second that rises with each sent state of the name. Nil:
    /// `timestamp` is used.
    public var second: Int?
    /// The type of the name's cards there, as a push of the name told it last. Nil: no push did.
    public var cardType: String?
    /// Epoch seconds; nil = none given. 0 = try once.
    public var expiry: Int?
    /// Epoch milliseconds after which no token is tried. Fixed at acceptance: `expiry`, or else the life of the event.
    public var deadline: Int64
    /// Epoch milliseconds.
    public var createdAt: Int64
    public var state: PushState
    public var payload: [UInt8]
    /// By platform. Its keys are the platforms whose devices the push is for.
    public var contents = PushContent.ofPayload
    /// The push goes out at priority 5 although 10 was asked for, because the hour's budget is used up.
    public var isDemoted = false
    /// The push is in the broadcast queue of its name.
    public var awaitsBroadcast = false
    /// For a start: the attributes type whose start tokens it goes to.
    public var attributesType: String?
    /// For a start: it also goes to channels that already follow the name.
    public var restarts = false
    /// For a start: it does not go to channels whose user dismissed the name's card.
    public var respectsDismissal = false
    /// For a start: the name's broadcast channel. On devices that can, the new activity takes its updates from it.
    public var inputChannel: BroadcastChannelID?
    /// For an automatic end: cards that started later (epoch ms) are not its targets.
    public var cutoff: Int64?
    /// For an automatic end: the payload of the update whose content state it shows; nil: it shows none.
    public var shown: [UInt8]?
    /// The tokens that were targets, and that took the push, when the record was read.
    public var targetsSoFar = 0
    public var deliveredSoFar = 0
    /// A card shows it, or will: see `PushState.stands`.
    public var stands = true
    /// For a push that waited again: the number of the last late joiner's note that its sweep found.
    public var sweptNotes: Int?
    /// A record beside the push says which channel's exchanges with APNs are kept.
    public var isTraced = false
    /// For a push for several platforms: those that refuse it, and why. Nothing more of it is sent to them.
    public var refusals: [Platform: String] = [:]
    /// The span that accepted it, as a `traceparent`. Nil: its trace is not sampled.
    public var traceparent: String?
    public var isAutomatic: Bool { cutoff != nil }
    /// Whether somebody tried it on one device (`Publish.isTest`).
    public var isTest: Bool { isTraced && audience.isOneChannel }
    /// Whether cards that come later get it. Automatic ends are for old cards, and starts for channels without a card.
    public var isState: Bool { event != .start && !isAutomatic }
    /// Whether the push is valid, but no device has it yet. Then it may still be stopped, and the state before it comes
    /// back.
    public var mayFall: Bool { !state.isFinal && deliveredSoFar == 0 }
    /// Whether a retry may send it. A stopped update goes only to late joiners, and only if other cards show it.
    public func maySend(isLate: Bool) -> Bool {
        !state.isFinal || isLate && event == .update && state != .done && stands
    }
    /// Whether this push may supersede an older one for the same tokens, by the rule of `shared-supersede.lua`.
    public func maySupersede(_ older: PushRecord) -> Bool {
        older.isSupersedable && sequence > older.sequence && event != .start && !isStateless
            && livesUntil >= older.livesUntil && (reachesSilent || !older.reachesSilent)
    }
    private var livesUntil: Int64 { expiry == 0 ? createdAt : deadline }
    /// Whether a card that started at this time (epoch ms) is a target, if it is in the audience.
    public func isFor(startedAt: Int64) -> Bool { cutoff.map { startedAt <= $0 } ?? true }
    /// Whether the push is from before a card, so it is not for it: an `end` that was accepted before the card began
    /// (epoch ms), or any push before the newest such `end` for everyone, whose sequence number is `closed` (0: none).
    package func isBefore(card began: Int64, _ closed: Int) -> Bool {
        sequence < closed || event == .end && createdAt <= began
    }
    /// For a start: where APNs's tokens for it are registered. Nil: the push goes to the name's tokens.
    public var startTokens: TokenPlace? { event == .start ? .startTokens(of: attributesType ?? "") : nil }
    /// For a start: all places of its tokens. Empty: the push goes to the name's tokens.
    public var startPlaces: [TokenPlace] {
        guard event == .start else { return [] }
        return platforms.map { .startTokens(of: $0.startType(attributesType) ?? "") }
    }
    /// It also goes to silent phones, so a push that does not go to them does not supersede it.
    var reachesSilent: Bool { content.reachesSilent }
    /// The platforms whose devices the push is for.
    var platforms: [Platform] { Platform.all.filter { contents[$0] != nil } }
    public var isForSeveral: Bool { contents.count > 1 }
    /// The codes of its other platforms, as scripts read them.
    func otherPlatforms(than platform: Platform) -> String {
        platforms.filter { $0 != platform }.map { "\($0.code)" }.joined(separator: " ")
    }
    /// Whether the push has a content for devices on the platform.
    public func isFor(_ platform: Platform) -> Bool { contents[platform.hasOwnContent ? platform : .ios] != nil }
    private var content: PushContent {
        get { PushContent(payload: payload, contents: contents) }
        set { (payload, contents) = (newValue.payload, newValue.contents) }
    }
}

extension PushRecord {
    /// Reads a lone push, as most pushes are.
    init(_ lone: LonePush) throws(StoreError) {
        guard let priority = lone.number(.prio).flatMap(PushPriority.init(rawValue:)), let sequence = lone.number(.seq),
            let createdAt = lone.number(.created), let deadline = lone.number(.until),
            let timestamp = lone.number(.ts)
        else { throw .corrupt("lone push") }
        self.init(
            id: lone.id, event: .update, priority: priority, audience: .all, sequence: sequence,
            isSupersedable: lone.text(.sup) != nil, timestamp: timestamp, expiry: lone.number(.expiry),
            deadline: Int64(deadline),
            createdAt: Int64(createdAt), state: lone.isSent ? .sending : .queued, payload: [])
        content = PushContent(stored: lone.payload)
        traceparent = lone.text(.tp)
    }

    init(id: PushID, _ fields: StoredHash) throws(StoreError) {
        guard let event = fields.text("event").flatMap(ActivityEvent.init(rawValue:)),
            let priority = fields.number("prio").flatMap(PushPriority.init(rawValue:)),
            let audience = fields.bytes("aud").flatMap({ Audience(encoded: $0) }),
            let sequence = fields.number("seq"), let createdAt = fields.number("created"),
            let state = fields.text("state").flatMap(PushState.init(rawValue:)),
            let deadline = fields.number("until"), let payload = fields.bytes("payload"),
            let timestamp = fields.number("ts")
        else { throw .corrupt("push record") }
        self.init(
            id: id, event: event, priority: priority, audience: audience, sequence: sequence,
            isSupersedable: fields.text("sup") != nil, timestamp: timestamp, expiry: fields.number("expiry"),
            deadline: Int64(deadline),
            createdAt: Int64(createdAt), state: state, payload: [],
            isDemoted: fields.text("demote") == "all",
            awaitsBroadcast: fields.text("bc") == PushBroadcast.State.waiting.rawValue)
        content = PushContent(stored: payload)
        attributesType = fields.text("type")
        let start = StartOptions(stored: fields.text("restart"))
        (restarts, respectsDismissal) = (start.contains(.restart), start.contains(.respectDismissal))
        isTraced = fields.text("trace") == "1"
        traceparent = fields.text("tp")
        (targetsSoFar, deliveredSoFar) = (fields.number("targets") ?? 0, fields.number("delivered") ?? 0)
        stands = state.stands(
            delivered: deliveredSoFar, expired: fields.number("expired") ?? 0,
            broadcast: fields.text("bc").flatMap(PushBroadcast.State.init(rawValue:)))
        sweptNotes = fields.number("notes")
        isStateless = fields.text("bare") == "1"
        cutoff = fields.number("cutoff").map { Int64($0) }
        shown = fields.bytes("shown").map { PushContent(stored: $0).payload }
        inputChannel = fields.text("input").flatMap { try? BroadcastChannelID($0) }
        if isForSeveral {
            for platform in platforms { refusals[platform] = fields.text("stopped@\(platform.code)") }
        }
    }
}

/// The options of a start, as one digit in Redis: `restart` of a push and of a schedule. Earlier versions know 0 and 1.
struct StartOptions: OptionSet {
    let rawValue: Int
    static let restart = StartOptions(rawValue: 1)
    static let respectDismissal = StartOptions(rawValue: 2)

    init(rawValue: Int) { self.rawValue = rawValue }

    init(_ options: PublishOptions) {
        self = []
        if options.restart { insert(.restart) }
        if options.respectDismissal == true { insert(.respectDismissal) }
    }

    init(stored text: String?) { self.init(rawValue: text.flatMap { StoredNumber.read($0) } ?? 0) }

    var stored: String { "\(rawValue)" }
}
