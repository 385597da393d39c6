public import LiveActivity
import Redis

/// The facts that decide whether a channel gets the next push of a name, as it is at one moment.
public struct Explanation: Sendable {
    public enum Presence: Sendable, Hashable {
        case follows
        /// Its app removed it at this time, epoch ms.
        case left(at: Int64)
        /// Its token was pruned. APNs knew it to be dead at this time, or the activity ended then (epoch ms).
        case pruned(at: Int64)
        /// The token was registered at this time (epoch ms), and its activity is over by now.
        case over(registeredAt: Int64, on: Platform)
        /// Nothing is known: it never registered, or nothing is kept of that any more.
        case unknown
    }

    public struct Waiting: Sendable, Hashable {
        /// The push of its retry queue that goes out next, or whose request is open, and how often it was tried.
        public var push: PushID
        public var attempts: Int
        /// Its request has no answer yet.
        public var isOpen: Bool
        /// When it is tried next, epoch ms; nil: a delivered `end` is being settled.
        public var due: Int64?
        /// The platform on which it waits, also before it follows: a start's answer may be open.
        public var platform = Platform.ios
    }

    public var presence: Presence
    /// The registration of a channel that follows.
    public var following: Following?
    /// Frequent pushes are switched off on the device.
    public var isInfrequent = false
    public var quarantine: QuarantineMark?
    /// Why nothing can be sent to it, though it follows.
    public var unreachable: Unreachable?
    public var waiting: Waiting?
    /// An `end` for everyone closed the name. Updates are refused until it is opened again.
    public var nameHasEnded = false
    /// The name's last push, and why it gave this channel up, if it did.
    public var lastPush: Ledger?
    public var givenUp: String?
    /// Since when the name or its app is paused, epoch ms.
    public var pausedSince: Int64?
    /// When a start was sent to the channel whose card's token has not come, epoch ms.
    public var startSentAt: Int64?
    /// The alarms of the app.
    public var alarms: [Alarm] = []

    /// Whether a worker of the app runs.
    public var hasWorker = true

    /// Whether an update for everyone, published now, would be sent to the channel.
    public var getsNextUpdate: Bool {
        presence == .follows && quarantine == nil && unreachable == nil && !nameHasEnded && pausedSince == nil
            && hasWorker
    }
}

extension Store {
    public func explain(
        _ app: AppKey, _ name: ActivityName, _ channel: ChannelID
    ) async throws(StoreError) -> Explanation {
        let place = keys.place(app, .activity(name))
        let (tag, stored) = (place.tag, channel.stored)
        let field = RedisArgument.bytes(stored)
        let (entries, _, replies) = try await tokens.lookup(
            place, [stored],
            and: [
                RedisCommand("HGET", keys.quarantine(tag), field),
                RedisCommand("HGET", keys.otherEnvironment(tag), field),
                RedisCommand("HGET", keys.retryQueues(tag), field),
                RedisCommand("ZSCORE", keys.waitingChannels(tag), field),
                RedisCommand("HMGET", keys.name(tag), "last", "ended"),
                RedisCommand("HGET", keys.openRequests(tag), field),
                RedisCommand("HGET", keys.startedChannels(tag), field),
            ])
        let (marked, elsewhere, queue, due, meta, open, started) = try replies.values(
            .optionalBytes("quarantine"), .optionalBytes("other environment"), .optionalBytes("retry queue"),
            .any("due"), .any("name"), .optionalBytes("open request"), .optionalString("start"))
        let (last, ended) = try meta.values(.push("last"), .any("ended"))
        var explanation = Explanation(presence: .unknown)
        if let queue, var waiting = WaitingChannel(channel: stored, queue: queue) {
            if let nextPush = waiting.nextPush {
                waiting.takeSendable(try await sweeps.records(app, name, [waiting.push, nextPush]))
            }
            explanation.waiting = Explanation.Waiting(
                push: open.flatMap { WaitingChannel.openPush($0) } ?? waiting.push, attempts: waiting.attempts,
                isOpen: open != nil, due: due.isNil ? nil : try due.optionalTime(), platform: waiting.platform)
        }
        if case let entry?? = entries.first {
            explanation.presence = .follows
            explanation.unreachable = try await tokens.unreachable(app, entry.platform, stored)
            explanation.isInfrequent = entry.isInfrequent && !entry.platform.offMeansSilent
            let mark = marked.flatMap { QuarantineMark(storedValue: $0) }
            explanation.quarantine = mark?.token == entry.token ? mark : nil
            var marks: Set<SendBlock> = []
            if explanation.waiting != nil { marks.insert(.waiting) }
            if explanation.quarantine != nil { marks.insert(.quarantined) }
            if elsewhere == OtherEnvironment.hash(entry.token)[...] { marks.insert(.elsewhere) }
            explanation.following = Following(
                place: .activity(name), token: entry.token, platform: entry.platform, registeredAt: entry.registeredAt,
                startedAt: entry.startedAt, marks: marks)
        } else {
            explanation.presence = try await tokens.past(place, stored)
        }
        explanation.startSentAt = started?.split(separator: " ").last.flatMap { StoredNumber.read($0) }.map {
            Int64($0)
        }
        explanation.nameHasEnded = !ended.isNil
        if let push = last {
            explanation.lastPush = try await pushes.ledger(app, push)
            let reason = try await redis.run("HGET", keys.deadChannels(tag, push), field)
            explanation.givenUp = try reason.optionalString()
        }
        explanation.pausedSince = try await pauses.since(app, name)
        explanation.alarms = try await alarms.list([app])
        explanation.hasWorker = try await workers([app]).contains(where: \.isAtWork)
        return explanation
    }
}

extension Tokens {
    /// Why a channel does not follow.
    func past(_ place: PlaceKeys, _ channel: [UInt8]) async throws(StoreError) -> Explanation.Presence {
        let bucket = try await buckets.numbers(of: ChannelList([channel]), buckets.memory.count(place.key))[0]
        let value = try await redis.run("HGET", keys.bucket(place.tag, bucket), .bytes(channel)).optionalBytes()
        guard let value, let action = value.withUnsafeBytes({ RegistryRecord.action(of: $0) }) else { return .unknown }
        if !action.isTombstone { return .over(registeredAt: action.time, on: action.platform) }
        return action.isPruned ? .pruned(at: action.time) : .left(at: action.time)
    }
}
