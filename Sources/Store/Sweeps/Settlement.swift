public import LiveActivity
import Redis

/// The outcomes of a target, as fields of the ledger.
public enum SettledField: String, Sendable, Hashable, CaseIterable {
    case delivered, pruned, failed, superseded, expired, skipped
}

/// The outcome of one page, which one script settles. The worker builds it from the outcomes of the page's requests.
public struct Settlement: Sendable {
    /// The page's positions in its shard; in a catch-up, its number.
    public var range: Range<ScanPosition>
    /// Tokens read for the first time. Channels that were queued behind an older push are not in it.
    public var targets = 0
    public var counts: [SettledField: Int] = [:]
    public var retries = 0
    public var duplicatesPossible = 0
    /// Targets that got the push at priority 5 because of the budget.
    public var demoted = 0
    /// For a start: delivered targets whose token was last reported long ago.
    public var stale = 0
    /// Answers other than 200, by reason.
    public var errors: [String: Int] = [:]
    /// Stops the push early, for this reason.
    public var stop: String?
    /// The push was stopped. The rest of the shard is not read, and its position is kept for an operator.
    public var abandonsRest = false
    private var keepsChannels = false
    /// Whether something of the page is noted for an operator. The caller lists the push before it settles then.
    public var givesUp: Bool { keepsChannels || expired > 0 }
    public var expired: Int { counts[.expired, default: 0] }
    /// Pending removals that the page decided on. The caller applies them after it settles.
    public private(set) var removals: [TokenRemoval] = []
    /// Whether channels of the page wait now. The caller makes sure that a worker comes back for them.
    public private(set) var leavesWaiting = false
    private(set) var operations: [RedisArgument] = []

    public init(range: Range<ScanPosition>) { self.range = range }

    public mutating func count(_ field: SettledField, _ number: Int = 1) { counts[field, default: 0] += number }
    public mutating func count(error reason: String) { errors[reason, default: 0] += 1 }

    /// A token of the page that is dead or got its `end`. It is counted when its removal is confirmed.
    public mutating func remove(_ removal: TokenRemoval) {
        operations += ["remove", .bytes(removal.storedField), .bytes(removal.storedValue)]
        removals.append(removal)
    }

    /// A token of the page that is given up, unless an operator retries it. The caller counts it separately.
    public mutating func giveUp(_ channel: some Collection<UInt8>, reason: String) {
        operations += ["dead", .bytes(Array(channel)), .string(reason)]
        keepsChannels = true
    }

    /// A channel of the page that is tried again at `due` (epoch ms).
    public mutating func retry(_ channel: some Collection<UInt8>, due: Int64, attempts: Int) {
        operations += ["retry", .bytes(Array(channel)), .int(due), .int(attempts)]
        leavesWaiting = true
    }

    /// A channel in the audience that waits for an older push. This push joins its retry queue. If it supersedes the
    /// older one, it inherits that push's attempts, but at most `mostAttempts`.
    public mutating func joinQueue(_ channel: some Collection<UInt8>, mostAttempts: Int) {
        operations += ["join", .bytes(Array(channel)), .int(mostAttempts)]
        leavesWaiting = true
    }

    /// Channels of the page whose tokens are quarantined. Nothing was sent to them.
    public mutating func quarantined(_ number: Int) {
        if number == 0 { return }
        targets += number
        count(.failed, number)
        errors["Quarantined", default: 0] += number
    }

    /// Channels of the page to which a start does not go, because they follow already or an `end` was accepted since.
    public mutating func skipped(_ number: Int) {
        if number == 0 { return }
        targets += number
        count(.skipped, number)
    }

    /// The catch-up has handled a channel as of that arrival.
    public mutating func caughtUp(_ arrival: CatchUpArrival) {
        operations += ["caughtUp", .bytes(arrival.channel), .int(arrival.order)]
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

/// The outcomes of attempts at waiting channels. Each part is written only while its push is still first in the
/// channel's retry queue, so repeating it is safe.
public struct RetrySettlement: Sendable {
    /// Outcomes for metrics. The script counts each for its push.
    public private(set) var finished: [SettledField: Int] = [:]
    public private(set) var retries = 0
    public private(set) var duplicatesPossible = 0
    public private(set) var removals: [PendingRemoval] = []
    /// Pushes of which something is noted for an operator. The caller lists them before it settles.
    public private(set) var givenUp: Set<PushID> = []
    /// How many channels expired unsent, by push.
    public private(set) var expired: [PushID: Int] = [:]
    private var operations: [(push: PushID, arguments: [RedisArgument])] = []
    private var stops: [(push: PushID, reason: String)] = []

    public init() {}

    private mutating func add(_ word: RedisArgument, _ waiting: WaitingChannel, _ rest: [RedisArgument]) {
        let first = [word, .bytes(waiting.channel), .bytes(waiting.push.uuid.bytes), .bytes(waiting.seen)]
        operations.append((waiting.push, first + rest))
    }

    /// The operations of each script. A stop is in one script with the last of its push's operations, which would finish
    /// the push as done otherwise.
    var parts: [[RedisArgument]] {
        func inParts(_ operations: [(push: PushID, arguments: [RedisArgument])]) -> [[RedisArgument]] {
            scriptParts(operations).map { $0.flatMap(\.arguments) }
        }
        let stopped = Set(stops.map(\.push))
        let others = operations.filter { !stopped.contains($0.push) }
        var parts = others.isEmpty && !stops.isEmpty ? [] : inParts(others)
        for (push, reason) in stops {
            let id = RedisArgument.bytes(push.uuid.bytes)
            var own = inParts(operations.filter { $0.push == push })
            let last = own.popLast() ?? []
            parts += own + [["keep", id] + last + ["stop", id, .string(reason)]]
        }
        return parts
    }

    /// The push is finished for the channel.
    ///
    /// - Parameters:
    ///   - reason: counted too, unless it is empty.
    ///   - isGivenUp: the channel is kept, so that an operator can decide about it.
    ///   - isStale: the start token that got the push was last reported long ago.
    public mutating func finish(
        _ waiting: WaitingChannel, as field: SettledField, reason: String = "", isGivenUp: Bool = false,
        isStale: Bool = false
    ) {
        finished[field, default: 0] += 1
        if isGivenUp || field == .expired { givenUp.insert(waiting.push) }
        if field == .expired { expired[waiting.push, default: 0] += 1 }
        add("pop", waiting, [.string(field.rawValue), .string(reason), isGivenUp ? "1" : isStale ? "2" : "0"])
    }

    /// The push is final and has counted the channel. It only leaves the retry queue.
    public mutating func drop(_ waiting: WaitingChannel) {
        add("pop", waiting, [.string(SettledField.skipped.rawValue), "", "0"])
    }

    /// The push is tried again at `due` (epoch ms).
    public mutating func postpone(
        _ waiting: WaitingChannel, due: Int64, attempts: Int, reason: String, mayBeDuplicate: Bool
    ) {
        retries += 1
        if mayBeDuplicate { duplicatesPossible += 1 }
        add("again", waiting, [.int(due), .int(attempts), .string(reason), mayBeDuplicate ? "1" : "0"])
    }

    /// The token is dead or got its `end`.
    public mutating func remove(_ waiting: WaitingChannel, _ removal: TokenRemoval) {
        removals.append(PendingRemoval(push: waiting.push, removal: removal))
        let rest: [RedisArgument] = [.bytes(removal.token), .bytes(removal.storedValue)]
        if removal.hasEnded {
            add("end", waiting, rest)
        } else {
            add("remove", waiting, rest + [.string(removal.reason)])
        }
    }

    /// Stops a push early. Nothing of it is sent any more.
    public mutating func stop(_ push: PushID, reason: String) {
        givenUp.insert(push)
        if !stops.contains(where: { $0.push == push }) { stops.append((push, reason)) }
    }

    /// A retry queue that cannot be read.
    mutating func discard(_ channel: [UInt8]) { operations.append((.none, ["void", .bytes(channel)])) }

    public var isEmpty: Bool { operations.isEmpty && stops.isEmpty }
}

/// Divides the work for many tokens between calls of a script, because Redis serves nobody else while a script runs.
/// There is at least one part, because a script also renews a lease or tells what is left.
func scriptParts<Element>(_ all: [Element]) -> [ArraySlice<Element>] {
    if all.isEmpty { return [[]] }
    return stride(from: 0, to: all.count, by: 125).map { all[$0..<min($0 + 125, all.count)] }
}
