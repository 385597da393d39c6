public import LiveActivity
import Redis
public import StoreGround
public import StoreRegistry

/// A pending removal: decided for a push, and not yet applied to the registry and confirmed.
public struct PendingRemoval: Sendable, Hashable {
    public var push: PushID
    public var removal: TokenRemoval

    public init(push: PushID, removal: TokenRemoval) {
        self.push = push
        self.removal = removal
    }

    /// push 16 ‖ channel's length 2 ‖ channel ‖ token
    package var field: [UInt8] { push.uuid.bytes + removal.storedField }

    init?(field: ArraySlice<UInt8>, value: ArraySlice<UInt8>) {
        var rest = field.dropFirst(16)
        guard let id = UUIDBytes(bytes: field.prefix(16)), let length = rest.takeBigEndian(UInt16.self),
            length > 0, rest.count > Int(length)
        else { return nil }
        var tail = value
        guard let kind = tail.popFirst(), let number = tail.takeBigEndian(UInt64.self) else { return nil }
        let since = number & TokenRemoval.latest
        push = PushID(id)
        removal = TokenRemoval(
            channel: Array(rest.prefix(Int(length))), token: Array(rest.dropFirst(Int(length))),
            deadSince: since == 0 ? nil : Int64(since), reason: String(decoding: tail, as: UTF8.self),
            platform: Platform(code: UInt8(number >> 56)))
        switch kind {
        case UInt8(ascii: "d"): break
        case UInt8(ascii: "e"): removal.hasEnded = true
        case UInt8(ascii: "s"):
            guard let length = tail.popFirst(), tail.count >= Int(length) else { return nil }
            removal.attributesType = String(decoding: tail.prefix(Int(length)), as: UTF8.self)
            removal.reason = String(decoding: tail.dropFirst(Int(length)), as: UTF8.self)
        default: return nil
        }
    }
}

extension TokenRemoval {
    /// The latest time that is stored.
    static let latest: UInt64 = 1 << 56 - 1

    /// channel's length 2, big-endian ‖ channel ‖ token
    var storedField: [UInt8] { bigEndian(UInt16(clamping: channel.count)) + channel + token }
    /// - kind, 1 byte: `d` a dead token, `e` a token whose `end` was delivered, `s` a dead start token
    /// - platform, 1 byte: its code
    /// - time, 7 bytes big-endian: epoch ms; 0 = none. A 410 of time 0 is stored as 1, because no time means a 400.
    /// - for `s`: the length of the attributes type, 1 byte, and the type
    /// - the platform's reason
    package var storedValue: [UInt8] {
        let kind = attributesType != nil ? UInt8(ascii: "s") : UInt8(ascii: hasEnded ? "e" : "d")
        let type = attributesType.map { Array($0.utf8.prefix(255)) }
        let since = deadSince.map { min(UInt64(max($0, 1)), Self.latest) } ?? 0
        return [kind] + bigEndian(UInt64(platform.code) << 56 | since)
            + (type.map { [UInt8($0.count)] + $0 } ?? []) + Array(reason.utf8)
    }
}

extension SweepStore {
    /// Reads the name's pending removals and gives them to `body`, a part at a time. `body` applies and confirms them.
    public func eachPendingRemoval(
        _ app: AppKey, _ name: ActivityName, _ body: ([PendingRemoval]) async throws(StoreError) -> Void
    ) async throws(StoreError) {
        let key = keys.pendingRemovals(keys.tag(app, name))
        try await redis.eachPart(ofHash: key, count: 1_000, read: { PendingRemoval(field: $0, value: $1) }, body)
    }

    /// Confirms removals and counts each of them once. A confirmed `end` releases the channel for its retry queue.
    /// - Parameter marks: empty, or one for each removal. A removal with a mark was not applied, because its token is
    ///   quarantined. The mark of a start token is stored where the token is registered.
    /// - Returns: the counts of this call by platform, and the due time of the name's first waiting channel (epoch ms).
    public func confirm(
        _ app: AppKey, _ name: ActivityName, _ removals: [(pending: PendingRemoval, as: SettledField)],
        marks: [QuarantineMark?] = []
    ) async throws(StoreError) -> (counted: [Platform: Outcomes], firstRetry: Int64?) {
        let tag = keys.tag(app, name)
        let locations: KeyValuePairs = [
            "o": keys.pendingRemovals(tag), "n": keys.name(tag), "x": keys.quarantine(tag), "h": keys.retryQueues(tag),
            "r": keys.waitingChannels(tag),
        ]
        let arguments: KeyValuePairs<String, RedisArgument> = [
            "ps": .string(keys.pushPrefix(tag)), "ws": .string(keys.tasksPrefix(tag)),
            "prs": .string(keys.prunedPrefix(tag)),
            "markLife": .int(Quarantine.life(.activity(name)).milliseconds),
            "mostPruned": .int(DeadLetters.mostPruned), "retention": .int(keys.retention),
        ]
        let parts = Array(removals.indices).scriptParts
        let replies = try await redis.run(
            parts.map { part in
                let threes = part.flatMap { index -> [RedisArgument] in
                    let one = removals[index]
                    let mark = marks.isEmpty ? nil : marks[index]
                    return [
                        .bytes(one.pending.field), .string(one.as.rawValue),
                        mark.map { one.pending.removal.attributesType == nil ? .bytes($0.storedValue) : "-" } ?? "",
                    ]
                }
                return RedisCommand(Lua.removalConfirm, keys: locations, arguments, rest: threes)
            })
        var counted: [Platform: Outcomes] = [:]
        for (part, reply) in zip(parts, replies) {
            let answers = try reply.array()
            try StoreError.check(answers.count, of: "removal-confirm", is: part.count + 2)
            endings.note(app, name, ids: try answers[part.count + 1].string())
            for (index, answer) in zip(part, answers.dropFirst()) where try answer.isOne() {
                counted[removals[index].pending.removal.platform, default: Outcomes()][removals[index].as] += 1
            }
        }
        return (counted, try replies.last?[0].optionalTime())
    }
}
