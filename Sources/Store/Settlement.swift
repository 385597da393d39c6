public import LiveActivity
import Redis

/// The ledger's fields that a target can end in.
public enum SettledField: String, Sendable, Hashable, CaseIterable {
    case delivered, pruned, failed, superseded, expired, skipped
}

/// What one page comes to, to be settled in one script. Built by the worker from the page's outcomes.
public struct Settlement: Sendable {
    /// The page's place in its shard; of a catch-up, its number.
    public var range: Range<ScanPosition>
    /// Tokens read for the first time, but for those that are held.
    public var targets = 0
    public var counts: [SettledField: Int] = [:]
    public var retries = 0
    public var duplicatesPossible = 0
    /// Of the targets, those sent to at priority 5 for the sake of the budget.
    public var demoted = 0
    /// Of a start: those of the delivered whose token was last reported long ago.
    public var stale = 0
    /// Answers other than 200, by reason.
    public var errors: [String: Int] = [:]
    /// Stops the push early, for this reason.
    public var stop: String?
    /// The push was stopped: the rest of the shard is not read, and where it stands is kept for an operator.
    public var abandonsRest = false
    private var keepsChannels = false
    /// Something of it is noted for an operator: whoever settles lists the push first.
    public var givesUp: Bool { keepsChannels || expired > 0 }
    public var expired: Int { counts[.expired, default: 0] }
    /// Removals that the page decides on: whoever settles applies them next.
    public private(set) var owed: [Prune] = []
    /// Channels of the page now wait: whoever settles sees to it that somebody comes back for them.
    public private(set) var leavesWaiting = false
    private(set) var operations: [RedisArgument] = []

    public init(range: Range<ScanPosition>) { self.range = range }

    public mutating func count(_ field: SettledField, _ number: Int = 1) { counts[field, default: 0] += number }
    public mutating func count(error reason: String) { errors[reason, default: 0] += 1 }

    /// A token of the page that is dead, or was delivered its `end`: counted when its removal has been applied and struck off.
    public mutating func owe(_ prune: Prune) {
        operations += ["owe", .bytes(prune.storedField), .bytes(prune.storedValue)]
        owed.append(prune)
    }

    /// A token of the page that is given up for good, unless an operator decides otherwise; counted by itself.
    public mutating func giveUp(_ channel: some Collection<UInt8>, reason: String) {
        operations += ["dead", .bytes(Array(channel)), .string(reason)]
        keepsChannels = true
    }

    /// A channel of the page that is tried again at `due` (epoch ms).
    public mutating func retry(_ channel: some Collection<UInt8>, due: Int64, attempts: Int) {
        operations += ["retry", .bytes(Array(channel)), .int(due), .int(attempts)]
        leavesWaiting = true
    }

    /// A channel in the audience that waits for an older push: this one joins the line. The older one's attempts count
    /// against it up to `mostAttempts`, should it take that one's place.
    public mutating func hold(_ channel: some Collection<UInt8>, mostAttempts: Int) {
        operations += ["hold", .bytes(Array(channel)), .int(mostAttempts)]
        leavesWaiting = true
    }

    /// Channels of the page whose tokens are quarantined: nothing was sent to them.
    public mutating func quarantined(_ number: Int) {
        if number == 0 { return }
        targets += number
        count(.failed, number)
        errors["Quarantined", default: 0] += number
    }

    /// Channels of the page that a start is not for: they follow already, or the name has ended.
    public mutating func skipped(_ number: Int) {
        if number == 0 { return }
        targets += number
        count(.skipped, number)
    }

    /// A channel of the catch-up was seen to, as it was at that arrival.
    public mutating func caught(_ arrival: CatchUpArrival) {
        operations += ["caught", .bytes(arrival.channel), .int(arrival.order)]
    }

    var arguments: [RedisArgument] {
        var arguments: [RedisArgument] = []
        func add(_ field: String, _ number: Int) {
            if number != 0 { arguments += ["add", .string(field), .int(number)] }
        }
        add("targets", targets)
        for (field, number) in counts { add(field.rawValue, number) }
        add("retries", retries)
        add("duplicates", duplicatesPossible)
        add("demoted", demoted)
        add("stale_tokens", stale)
        for (reason, number) in errors { add("e:\(reason)", number) }
        return arguments + operations
    }
}

/// What attempts at waiting channels come to. Each of its parts is written only while its push is still first in the
/// channel's line, so it may be repeated.
public struct RetrySettlement: Sendable {
    /// How channels end, for metrics; the script counts each for its push.
    public private(set) var finished: [SettledField: Int] = [:]
    public private(set) var retries = 0
    public private(set) var duplicatesPossible = 0
    public private(set) var owed: [OwedPrune] = []
    /// Pushes of which something is noted for an operator: whoever settles lists them first.
    public private(set) var givenUp: Set<PushID> = []
    /// How many channels expire unsent, by push.
    public private(set) var expired: [PushID: Int] = [:]
    private(set) var arguments: [RedisArgument] = []

    public init() {}

    private func first(_ word: RedisArgument, _ waiting: WaitingChannel) -> [RedisArgument] {
        [word, .bytes(waiting.channel), .bytes(waiting.push.uuid.bytes), .bytes(waiting.seen)]
    }

    /// `reason` is counted too, unless it is empty. `isGivenUp`: kept for an operator to decide about. `isStale`: the start
    /// token that it was delivered to was last reported long ago.
    public mutating func finish(
        _ waiting: WaitingChannel, as field: SettledField, reason: String = "", isGivenUp: Bool = false,
        isStale: Bool = false
    ) {
        finished[field, default: 0] += 1
        if isGivenUp || field == .expired { givenUp.insert(waiting.push) }
        if field == .expired { expired[waiting.push, default: 0] += 1 }
        arguments +=
            first("pop", waiting)
            + [.string(field.rawValue), .string(reason), isGivenUp ? "1" : isStale ? "2" : "0"]
    }

    /// Its push is over, and has counted the channel: only the line moves up.
    public mutating func drop(_ waiting: WaitingChannel) {
        arguments += first("pop", waiting) + [.string(SettledField.skipped.rawValue), "", "0"]
    }

    /// Tried again at `due` (epoch ms).
    public mutating func postpone(
        _ waiting: WaitingChannel, due: Int64, attempts: Int, reason: String, mayBeDuplicate: Bool
    ) {
        retries += 1
        if mayBeDuplicate { duplicatesPossible += 1 }
        arguments +=
            first("again", waiting) + [
                .int(due), .int(attempts + (waiting.isLate ? Int(WaitingChannel.lateMark) : 0)), .string(reason),
                mayBeDuplicate ? "1" : "0",
            ]
    }

    /// The token is dead, or was delivered its `end`.
    public mutating func owe(_ waiting: WaitingChannel, _ prune: Prune) {
        owed.append(OwedPrune(push: waiting.push, prune: prune))
        arguments += first(prune.hasEnded ? "end" : "owe", waiting) + [.bytes(prune.token), .bytes(prune.storedValue)]
        if !prune.hasEnded { arguments.append(.string(prune.reason)) }
    }

    /// Stops a push early: nothing of it is sent any more.
    public mutating func stop(_ push: PushID, reason: String) {
        givenUp.insert(push)
        let id = RedisArgument.bytes(push.uuid.bytes)
        arguments = ["keep", id] + arguments + ["stop", id, .string(reason)]
    }

    /// A line that nobody can read.
    mutating func discard(_ channel: [UInt8]) { arguments += ["void", .bytes(channel)] }

    public var isEmpty: Bool { arguments.isEmpty }
}
