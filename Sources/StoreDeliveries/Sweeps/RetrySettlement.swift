public import LiveActivity
package import Redis
import StoreGround
public import StoreRegistry

/// The outcomes of attempts at waiting channels. Repeating is safe: a part is written only while its push is first.
public struct RetrySettlement: Sendable {
    /// Counts by platform, for metrics. The script counts each outcome for its push.
    public private(set) var work: [Platform: SettledWork] = [:]
    public private(set) var removals: [PendingRemoval] = []
    /// Pushes of which something is noted for an operator. The caller lists them before it settles.
    public private(set) var givenUp: Set<PushID> = []
    /// How many channels expired unsent, by push and platform.
    public private(set) var expired: [PushID: [Platform: Int]] = [:]
    private typealias Operation = (push: PushID, arguments: [RedisArgument])
    private var operations: [Operation] = []
    private var ends: [Operation] = []
    /// A stop without a reason is for a push that platforms refuse, and acts if all of its platforms do.
    private var stops: [(push: PushID, reason: String, refusals: [RedisArgument])] = []

    public init() {}

    /// The `end`s that a page of a sweep delivered, for `settleLate`.
    public init(ended removals: [TokenRemoval], of push: PushID) {
        for removal in removals where removal.hasEnded {
            self.removals.append(PendingRemoval(push: push, removal: removal))
            operations.append((push, Self.end(removal, of: push, seen: [])))
        }
    }

    /// The `end`s that were delivered. `settleLate` takes them from any owner, also without the lease.
    public var delivered: RetrySettlement {
        var settlement = RetrySettlement()
        settlement.removals = removals.filter(\.removal.hasEnded)
        settlement.operations = ends
        return settlement
    }

    private static func end(_ removal: TokenRemoval, of push: PushID, seen: [UInt8]) -> [RedisArgument] {
        [
            "end", .bytes(removal.channel), .bytes(push.uuid.bytes), .bytes(seen), .bytes(removal.token),
            .bytes(removal.storedValue),
        ]
    }

    private mutating func add(_ word: RedisArgument, _ waiting: WaitingChannel, _ rest: [RedisArgument]) {
        let first = [word, .bytes(waiting.channel), .bytes(waiting.push.uuid.bytes), .bytes(waiting.seen)]
        operations.append((waiting.push, first + rest))
    }

    /// The operations of each script. A stop is in one script with its push's last operation, which alone finishes it.
    package var parts: [[RedisArgument]] {
        func inParts(_ operations: [(push: PushID, arguments: [RedisArgument])]) -> [[RedisArgument]] {
            operations.scriptParts.map { $0.flatMap(\.arguments) }
        }
        let stopped = Set(stops.map(\.push))
        let others = operations.filter { !stopped.contains($0.push) }
        var parts = others.isEmpty && !stops.isEmpty ? [] : inParts(others)
        for (push, reason, refusals) in stops {
            let id = RedisArgument.bytes(push.uuid.bytes)
            var own = inParts(operations.filter { $0.push == push })
            let last = own.popLast() ?? []
            let kept: [RedisArgument] = ["keep", id] + last + refusals
            parts += own + [kept + ["stop", id, .string(reason)]]
        }
        return parts
    }

    /// The push is finished for the channel. `reason` is counted too, unless it is empty. `isGivenUp`: the channel is
    /// kept for an operator. `isStale`: the start token that got the push was last reported long ago.
    public mutating func finish(
        _ waiting: WaitingChannel, as field: SettledField, reason: String = "", isGivenUp: Bool = false,
        isStale: Bool = false
    ) {
        work[waiting.platform, default: SettledWork()].outcomes[field] += 1
        if isGivenUp || field == .expired { givenUp.insert(waiting.push) }
        if field == .expired { expired[waiting.push, default: [:]][waiting.platform, default: 0] += 1 }
        let kept = isGivenUp ? "1" : isStale ? "2" : "0"
        add("pop", waiting, [.string(field.rawValue), .string(reason), .string(kept + Self.code(of: waiting))])
    }

    /// The code of the channel's platform, if that counts apart.
    private static func code(of waiting: WaitingChannel) -> String {
        waiting.platform.countsApart ? "\(waiting.platform.code)" : ""
    }

    /// The push is final and has counted the channel. It only leaves the retry queue.
    public mutating func drop(_ waiting: WaitingChannel) {
        add("pop", waiting, [.string(SettledField.skipped.rawValue), "", .string("0" + Self.code(of: waiting))])
    }

    /// The push is tried again at `due` (epoch ms).
    /// - Parameter wasSent: a request was made, so the next one is another attempt
    public mutating func postpone(
        _ waiting: WaitingChannel, due: Int64, attempts: Int, reason: String, wasSent: Bool = true, mayBeDuplicate: Bool
    ) {
        countRetries(wasSent ? 1 : 0, on: waiting.platform, mayBeDuplicate: mayBeDuplicate)
        let duplicates: RedisArgument = !wasSent ? "" : mayBeDuplicate ? "1" : "0"
        add("again", waiting, [.int(due), .int(attempts), .string(reason), duplicates])
    }

    /// Channels that were tried again. The push may have reached them before. A settlement that is repeated counts
    /// them again.
    public mutating func countResent(_ waiting: [WaitingChannel], of push: PushID) {
        for one in waiting { countRetries(1, on: one.platform, mayBeDuplicate: true) }
        operations.append((push, ["resent", .bytes(push.uuid.bytes), .int(waiting.count)]))
    }

    private mutating func countRetries(_ number: Int, on platform: Platform, mayBeDuplicate: Bool) {
        if number == 0 { return }
        work[platform, default: SettledWork()].retries += number
        if mayBeDuplicate { work[platform, default: SettledWork()].duplicatesPossible += number }
    }

    /// The request is open.
    public mutating func leaveOpen(_ request: OpenRequest) {
        add(
            "open", request.channel,
            [.bytes(request.id.bytes), .int(request.length.milliseconds), .int(request.channel.attempts + 1)])
    }

    /// The token is dead or got its `end`.
    public mutating func remove(_ waiting: WaitingChannel, _ removal: TokenRemoval) {
        removals.append(PendingRemoval(push: waiting.push, removal: removal))
        if removal.hasEnded {
            let end = (waiting.push, Self.end(removal, of: waiting.push, seen: waiting.seen))
            operations.append(end)
            ends.append(end)
        } else {
            add("remove", waiting, [.bytes(removal.token), .bytes(removal.storedValue), .string(removal.reason)])
        }
    }

    /// Stops a push early. Nothing of it is sent any more.
    public mutating func stop(_ push: PushID, reason: String) {
        givenUp.insert(push)
        if !stops.contains(where: { $0.push == push }) { stops.append((push, reason, [])) }
    }

    /// A platform refuses a push, which is for several. It stops early once all of them do.
    public mutating func refuse(_ push: PushRecord, on platform: Platform, reason: String) {
        stop(push.id, reason: "")
        for index in stops.indices where stops[index].push == push.id {
            stops[index].refusals += [
                "refuse", .bytes(push.id.uuid.bytes), .int(platform.code), .string(reason),
                .string(push.otherPlatforms(than: platform)),
            ]
        }
    }

    /// An open request of the channel may be over.
    mutating func lapse(_ channel: [UInt8]) { operations.append((.none, ["lapse", .bytes(channel)])) }

    /// A retry queue that cannot be read.
    mutating func discard(_ channel: [UInt8]) { operations.append((.none, ["void", .bytes(channel)])) }
    public var isEmpty: Bool { operations.isEmpty && stops.isEmpty }
}
