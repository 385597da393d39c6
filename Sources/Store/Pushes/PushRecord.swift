public import LiveActivity
import Redis

/// The facts about a push that a worker needs. Read once, when the worker claims a shard.
public struct PushRecord: Sendable {
    public var id: PushID
    public var event: ActivityEvent
    public var priority: PushPriority
    public var audience: Audience
    public var sequence: Int
    public var isSupersedable: Bool
    /// Epoch seconds; nil = none given. 0 = try once.
    public var expiry: Int?
    /// Epoch milliseconds after which no token is tried. Fixed at acceptance: `expiry`, or else the life of the event.
    public var deadline: Int64
    /// Epoch milliseconds.
    public var createdAt: Int64
    public var state: PushState
    public var payload: [UInt8]
    public var demotion: Demotion?
    /// The push is in the broadcast queue of its name.
    public var awaitsBroadcast = false
    /// For a start: the attributes type whose start tokens it goes to.
    public var attributesType: String?
    /// For a start: it also goes to channels that already follow the name.
    public var restarts = false
    /// For a start: the name's broadcast channel. On devices that can, the new activity takes its updates from it.
    public var inputChannel: BroadcastChannelID?
    /// For an automatic end: cards that started later (epoch ms) are not its targets.
    public var cutoff: Int64?
    /// For an automatic end: the payload, as it went out, of the update whose content state it shows; nil: it shows
    /// none.
    public var shown: [UInt8]?
    public var isAutomatic: Bool { cutoff != nil }

    /// Whether a card that started at this time (epoch ms) is a target, if it is in the audience.
    public func isFor(startedAt: Int64) -> Bool { cutoff.map { startedAt <= $0 } ?? true }

    /// For a start: where its tokens are registered. Nil: the push goes to the name's tokens.
    public var startTokens: TokenPlace? { event == .start ? .startTokens(of: attributesType ?? "") : nil }
}

extension PushRecord {
    /// For a record from an older version, which has no deadline.
    private static func deadline(_ event: ActivityEvent, _ expiry: Int?, createdAt: Int) -> Int64 {
        if let expiry, expiry > 0 { return Int64(expiry) * 1_000 }
        return Int64(createdAt) + event.life.milliseconds
    }

    /// Reads a push's hash from the reply to HGETALL.
    init(id: PushID, _ fields: StoredHash) throws(StoreError) {
        guard let event = fields.text("event").flatMap(ActivityEvent.init(rawValue:)),
            let priority = fields.number("prio").flatMap(PushPriority.init(rawValue:)),
            let audience = fields.bytes("aud").flatMap({ Audience(encoded: $0) }),
            let sequence = fields.number("seq"), let createdAt = fields.number("created"),
            let state = fields.text("state").flatMap(PushState.init(rawValue:)),
            let payload = fields.bytes("payload")
        else { throw .corrupt("push record") }
        let expiry = fields.number("expiry")
        self.init(
            id: id, event: event, priority: priority, audience: audience, sequence: sequence,
            isSupersedable: fields.text("sup") == "1", expiry: expiry,
            deadline: fields.number("until").map { Int64($0) } ?? Self.deadline(event, expiry, createdAt: createdAt),
            createdAt: Int64(createdAt), state: state, payload: Array(payload),
            demotion: fields.text("demote").flatMap(Demotion.init(rawValue:)),
            awaitsBroadcast: fields.text("bc") == PushBroadcast.State.waiting.rawValue)
        attributesType = fields.text("type")
        restarts = fields.text("restart") == "1"
        cutoff = fields.number("cutoff").map { Int64($0) }
        shown = fields.bytes("shown").map { Array($0) }
        inputChannel = fields.text("input").flatMap { try? BroadcastChannelID($0) }
    }
}

extension Ledger {
    init(id: PushID, name: ActivityName, _ fields: StoredHash) throws(StoreError) {
        let record = try PushRecord(id: id, fields)
        self.init(
            id: id, name: name, event: record.event, priority: record.priority, state: record.state,
            createdAt: record.createdAt)
        isAutomatic = record.isAutomatic
        expanded = fields.text("expanded") == "1"
        targets = fields.number("targets") ?? 0
        delivered = fields.number(SettledField.delivered.rawValue) ?? 0
        pruned = fields.number(SettledField.pruned.rawValue) ?? 0
        failed = fields.number(SettledField.failed.rawValue) ?? 0
        superseded = fields.number(SettledField.superseded.rawValue) ?? 0
        expired = fields.number(SettledField.expired.rawValue) ?? 0
        skipped = fields.number(SettledField.skipped.rawValue) ?? 0
        retries = fields.number("retries") ?? 0
        duplicatesPossible = fields.number("duplicates") ?? 0
        demoted = fields.number("demoted") ?? 0
        late = fields.number("late") ?? 0
        stale = fields.number("stale_tokens") ?? 0
        supersededBy = fields.text("superseded_by").flatMap { PushID($0) }
        finishedAt = fields.number("finished").map(Int64.init)
        broadcast = fields.text("bc").flatMap(PushBroadcast.State.init(rawValue:)).map { state in
            PushBroadcast(
                state: state, channel: fields.text("bc:channel").flatMap { try? BroadcastChannelID($0) },
                status: fields.number("bc:status"), reason: fields.text("bc:reason").flatMap { $0.isEmpty ? nil : $0 },
                attempts: fields.number("bc:tries") ?? 0)
        }
        for (field, value) in fields.pairs {
            if let reason = field.rest(behind: "e:") { errors[reason] = Int(value) }
        }
        if let stopped = fields.text("stopped"), errors[stopped] == nil { errors[stopped] = 1 }
    }
}

/// A hash from a reply with fields and values in turn, with typed reading. Small: at most a few dozen fields.
struct StoredHash {
    private var values: [String: ArraySlice<UInt8>] = [:]

    init(_ reply: Reply) throws(StoreError) {
        let items = try reply.array()
        guard items.count.isMultiple(of: 2) else { throw .unexpectedReply("a hash of odd length") }
        for index in stride(from: 0, to: items.count, by: 2) {
            values[try items[index].string()] = try items[index + 1].bytes()
        }
    }

    var isEmpty: Bool { values.isEmpty }
    func bytes(_ field: String) -> ArraySlice<UInt8>? { values[field] }
    func text(_ field: String) -> String? { values[field].flatMap { String(validating: $0, as: UTF8.self) } }
    func number(_ field: String) -> Int? { text(field).flatMap { Int($0) } }
    var pairs: [(String, String)] { values.map { ($0.key, String(decoding: $0.value, as: UTF8.self)) } }
}
