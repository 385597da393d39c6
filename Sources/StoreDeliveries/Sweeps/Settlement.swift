public import LiveActivity
import Redis
public import StoreGround
public import StoreRegistry

/// The outcome of one page, which one script settles. The worker builds it from the outcomes of the page's requests.
public struct Settlement: Sendable {
    /// About as many channels of a page may join queues. A page is settled by one script, so that it is counted wholly
    /// or not at all, and Redis serves nobody else meanwhile. A queue may have 1 KB.
    public static let mostJoins = 250

    /// The page's positions in its shard; in a catch-up, its number.
    public var range: Range<ScanPosition>
    /// The outcomes of tokens that were read for the first time. Channels that were queued behind an older push are no
    /// targets of the page.
    public private(set) var outcomes = Outcomes()
    public var targets: Int {
        get { outcomes.targets }
        set { outcomes.targets = newValue }
    }
    /// The part of them on each platform that counts apart.
    public private(set) var apart: [Platform: Outcomes] = [:]
    public private(set) var retries = 0
    public private(set) var duplicatesPossible = 0
    private var retriesApart: [Platform: (all: Int, duplicatesPossible: Int)] = [:]
    /// Targets that got the push at priority 5 because of the budget.
    public var demoted = 0
    /// For a start: delivered targets whose token was last reported long ago.
    public var stale = 0
    /// Answers other than 200, by reason.
    public var errors: [String: Int] = [:]
    /// Stops the push early, for this reason.
    public var stop: String?
    /// A platform refuses the push.
    private var isRefused = false
    /// Whether the push may be stopped early.
    public var mayStop: Bool { stop != nil || isRefused }
    /// The push was stopped. The rest of the shard is not read, and its position is kept for an operator.
    public var abandonsRest = false
    private var keepsChannels = false
    /// Whether something of the page is noted for an operator. The caller lists the push before it settles then.
    public var givesUp: Bool { keepsChannels || expired > 0 }
    public var expired: Int { outcomes.expired }
    /// The same by platform. Empty: no target expired.
    public var expiredByPlatform: [Platform: Int] { work.mapValues(\.outcomes.expired).filter { $0.value > 0 } }
    /// Pending removals that the page decided on. The caller applies them after it settles.
    public private(set) var removals: [TokenRemoval] = []
    /// Whether channels of the page begin to wait.
    private var leavesWaiting = false
    private var operations: [RedisArgument] = []
    /// Whether channels of the page wait behind an older push.
    private var joinsQueues = false

    public init(range: Range<ScanPosition>) { self.range = range }
    public mutating func count(_ field: SettledField, _ number: Int = 1, on platform: Platform = .ios) {
        outcomes[field] += number
        if platform.countsApart, number != 0 { apart[platform, default: Outcomes()][field] += number }
    }
    public mutating func count(targets: Int, on platform: Platform = .ios) {
        outcomes.targets += targets
        if platform.countsApart, targets != 0 { apart[platform, default: Outcomes()].targets += targets }
    }
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

    /// A platform refuses the push, which is for several. It stops early once all of them do.
    public mutating func refuse(_ push: PushRecord, on platform: Platform, reason: String) {
        operations += [
            "refuse", .int(platform.code), .string(reason), .string(push.otherPlatforms(than: platform)),
        ]
        isRefused = true
    }

    /// A channel of the page that is tried again at `due` (epoch ms).
    /// - Parameters:
    ///   - wasSent: a request was made, so the next one is another attempt
    ///   - mayBeDuplicate: the channel may have got the push
    public mutating func retry(
        _ channel: some Collection<UInt8>, due: Int64, attempts: Int, on platform: Platform = .ios,
        wasSent: Bool = true, mayBeDuplicate: Bool = false
    ) {
        countRetries(wasSent ? 1 : 0, on: platform, mayBeDuplicate: mayBeDuplicate)
        operations += ["retry", .bytes(Array(channel)), .int(due), .int(attempts), .int(platform.code)]
        leavesWaiting = true
    }

    /// Channels of the page that were tried again. The push may have reached them before.
    public mutating func countResent(_ number: Int, on platform: Platform) {
        countRetries(number, on: platform, mayBeDuplicate: true)
    }

    private mutating func countRetries(_ number: Int, on platform: Platform, mayBeDuplicate: Bool) {
        if number == 0 { return }
        retries += number
        if mayBeDuplicate { duplicatesPossible += number }
        guard platform.countsApart else { return }
        retriesApart[platform, default: (0, 0)].all += number
        if mayBeDuplicate { retriesApart[platform, default: (0, 0)].duplicatesPossible += number }
    }

    /// A channel of the page whose request is open. The page counts it as read.
    public mutating func leaveOpen(_ request: OpenRequest) {
        operations += [
            "open", .bytes(request.channel.channel), .int(request.channel.attempts + 1), .bytes(request.id.bytes),
            .int(request.length.milliseconds), .int(request.channel.platform.code),
        ]
        leavesWaiting = true
    }

    /// A channel that waits for an older push. If this push supersedes that one, it inherits up to `mostAttempts`.
    public mutating func joinQueue(
        _ channel: some Collection<UInt8>, mostAttempts: Int, on platform: Platform = .ios
    ) {
        operations += ["join", .bytes(Array(channel)), .int(mostAttempts), .int(platform.code)]
        joinsQueues = true
    }

    /// Whether the caller must make sure that a worker comes back for channels that wait. Channels that wait for an
    /// older push have a timer already: the worker that queued them set it. If the older push is over meanwhile, this
    /// push is due at once.
    /// - Parameters:
    ///   - first: when the name's first waiting channel is due, epoch ms
    ///   - now: epoch ms
    public func needsTimer(first: Int64, now: Int64) -> Bool {
        leavesWaiting || joinsQueues && first <= now + ServerTime.error.milliseconds
    }

    /// Channels of the page whose tokens are quarantined. Nothing was sent to them.
    public mutating func addQuarantined(_ number: Int, on platform: Platform = .ios) {
        if number == 0 { return }
        count(targets: number, on: platform)
        count(.failed, number, on: platform)
        errors["Quarantined", default: 0] += number
    }

    /// Channels of the page that get nothing: a start finds that they follow already or that an `end` was accepted
    /// since, or they cannot be reached.
    /// - Parameter reason: counted too, if given
    public mutating func addSkipped(_ number: Int, reason: String? = nil, on platform: Platform = .ios) {
        if number == 0 { return }
        count(targets: number, on: platform)
        count(.skipped, number, on: platform)
        if let reason { errors[reason, default: 0] += number }
    }

    /// The catch-up has handled a channel as of that arrival.
    /// - Parameter isReached: the channel has the push, so it is no late joiner any more
    public mutating func caughtUp(_ arrival: CatchUpArrival, isReached: Bool = false) {
        operations += [isReached ? "reached" : "caughtUp", .bytes(arrival.channel), .int(arrival.order)]
    }

    /// The page's counts by platform, for metrics.
    public var work: [Platform: SettledWork] {
        var work: [Platform: SettledWork] = [:]
        var rest = SettledWork(outcomes: outcomes, retries: retries, duplicatesPossible: duplicatesPossible)
        for platform in Set(apart.keys).union(retriesApart.keys) {
            let (retries, duplicatesPossible) = retriesApart[platform] ?? (0, 0)
            let part = SettledWork(
                outcomes: apart[platform] ?? Outcomes(), retries: retries, duplicatesPossible: duplicatesPossible)
            rest.outcomes -= part.outcomes
            rest.retries -= retries
            rest.duplicatesPossible -= duplicatesPossible
            work[platform] = part
        }
        work[.ios] = rest
        return work
    }

    /// The operations of the script.
    var arguments: [RedisArgument] {
        var arguments: [RedisArgument] = []
        func add(_ field: String, _ number: Int) {
            if number != 0 { arguments += ["add", .string(field), .int(number)] }
        }
        add("targets", outcomes.targets)
        for field in SettledField.allCases { add(field.rawValue, outcomes[field]) }
        for (platform, outcomes) in apart {
            add(Ledger.field("targets", platform), outcomes.targets)
            for field in SettledField.allCases { add(Ledger.field(field.rawValue, platform), outcomes[field]) }
        }
        add("retries", retries)
        add("duplicates", duplicatesPossible)
        add("demoted", demoted)
        add("stale_tokens", stale)
        for (reason, number) in errors { add("e:\(reason)", number) }
        return arguments + operations
    }
}

/// The work of a settlement on one platform.
public struct SettledWork: Sendable, Hashable {
    public var outcomes: Outcomes
    public var retries: Int
    public var duplicatesPossible: Int

    public init(outcomes: Outcomes = Outcomes(), retries: Int = 0, duplicatesPossible: Int = 0) {
        (self.outcomes, self.retries, self.duplicatesPossible) = (outcomes, retries, duplicatesPossible)
    }
}

extension Ledger {
    /// The ledger of a push whose only page is settled.
    init(_ record: PushRecord, _ name: ActivityName, _ settlement: Settlement, state: PushState) {
        self.init(
            id: record.id, name: name, event: record.event, priority: record.priority, state: state,
            createdAt: record.createdAt)
        expanded = true
        payloadBytes = record.payload.count
        (outcomes, apart) = (settlement.outcomes, settlement.apart)
        platforms = record.platforms
        (retries, duplicatesPossible) = (settlement.retries, settlement.duplicatesPossible)
        (demoted, stale, errors) = (settlement.demoted, settlement.stale, settlement.errors)
    }
}

/// The answer of a script that also prolongs the lease.
public protocol LeaseAnswer: Sendable {
    /// False if another worker has the lease, or if its push is gone.
    var keepsLease: Bool { get }
    /// True if the caller's work under the lease is finished, so that nobody has it any more.
    var endsLease: Bool { get }
}

public enum Settled: LeaseAnswer {
    /// Another worker has the lease. Nothing was written. Begin nothing more.
    case stale
    case gone
    case ok(state: PushState, isFinished: Bool, Leftovers)
    public var keepsLease: Bool { if case .ok = self { true } else { false } }
    public var endsLease: Bool { if case .ok(_, isFinished: true, _) = self { true } else { false } }
}

/// Work that may be left after a page is settled. Doing it twice is harmless.
public struct Leftovers: Sendable, Hashable {
    /// Pushes of the name that are not swept: a push whose sweep goes on, and those that wait to begin.
    public var unswept: Int
    /// Pushes of the name wait to begin, if none is being swept.
    public var nameWaits: Bool { unswept > 0 }
    /// When the name's first waiting channel is due, epoch ms.
    public var firstRetry: Int64?
    /// Removals are pending that the caller does not know of.
    public var hasPendingRemovals: Bool
    /// The shards of the push are finished, but its catch-up is not.
    public var catchUpWaits = false
}
