public import LiveActivity
public import Redis

/// All access to Redis, in the words of the domain. `docs/keyspace.md` lists the keys.
public struct Store: Sendable {
    public let redis: RedisClient
    public private(set) var registry: Registry
    public let tokens: Tokens
    public let names: Names
    public let followings: FollowingIndex
    public private(set) var channels: Channels
    public let pushes: Pushes
    public let receipts: Receipts
    public let schedules: Schedules
    public let queue: WorkQueue
    public let endings = PushEndings()
    public let sweeps: SweepStore
    public let lateJoiners: LateJoiners
    public let alarms: Alarms
    public let events: Events
    public let actions: Actions
    public let pauses: Pauses
    public let reloads: ReloadRequests
    public let quarantine: Quarantine
    public let deadLetters: DeadLetters
    /// The clock for registrations and due times.
    public let time: ServerTime
    public let broadcasts: Broadcasts
    public let automaticEnds: AutomaticEnds
    public let forgetting: Forgetting
    let keys: Keyspace

    /// Connects with the first command.
    /// - Parameters:
    ///   - replicas: how many replicas must have a push before it is accepted; nil = the primary alone.
    ///   - channelLife: how long a channel is kept after it was last seen; zero: for ever.
    ///   - retention: how long pushes, ledgers, dead letters and finished schedules are kept.
    ///   - quotas: of each app. 0 or absent means no limit.
    ///   - events: the apps with outgoing events. All processes of a deployment must agree.
    ///   - actions: how much of the logs of actions is kept.
    ///   - notes: features that learn which followings begin and end.
    ///   - machine: epoch milliseconds in place of the machine's own clock.
    ///   - clock: epoch milliseconds in place of Redis's time. The life of registrations is judged by it.
    public init(
        redis: RedisClient, prefix: String = Keyspace.defaultPrefix, replicas: ReplicaPolicy? = nil,
        channelLife: Duration = .zero, retention: Duration = Keyspace.defaultRetention,
        quotas: [Quota: Int] = [:], events policies: [AppKey: EventPolicy] = [:],
        actions: ActionPolicy = ActionPolicy(), notes: [FollowingNote] = [], machine: (@Sendable () -> Int64)? = nil,
        clock: (@Sendable () -> Int64)? = nil
    ) {
        self.redis = redis
        let keys = Keyspace(
            prefix: prefix, partitions: redis.isCluster ? Partition.ofCluster : 1, retention: retention)
        self.keys = keys
        let time = ServerTime(redis: redis, keys: keys, machine: machine ?? wallClock)
        self.time = time
        let clock = clock ?? time.now
        let buckets = Buckets(redis: redis, keys: keys, ahead: time.ahead, clock: clock)
        tokens = Tokens(buckets)
        names = Names(tokens)
        followings = FollowingIndex(tokens)
        registry = Registry(tokens, followings, notes: notes.map { $0.begin(redis, keys, time) })
        registry.quotas.limits = quotas
        channels = Channels(redis: redis, keys: keys, followings: followings, life: channelLife, clock: clock)
        channels.quotas.limits = quotas
        let telling = Set(policies.filter(\.value.isOn).keys)
        let replicaWait = replicas.map { ReplicaWait(beside: redis, $0) }
        pushes = Pushes(
            redis: redis, keys: keys, time: time, replicas: replicaWait, memory: buckets.memory,
            index: PushIndex(redis: redis, keys: keys), telling: telling, endings: endings)
        receipts = Receipts(redis: redis, keys: keys, index: pushes.index, time: time)
        events = Events(redis: redis, keys: keys, policies: policies.filter(\.value.isOn))
        schedules = Schedules(redis: redis, keys: keys, pushes: pushes, replicas: replicaWait, events: events)
        queue = WorkQueue(redis: redis, keys: keys, telling: telling)
        sweeps = SweepStore(redis: redis, keys: keys, endings: endings)
        lateJoiners = LateJoiners(redis: redis, keys: keys, endings: endings)
        pauses = Pauses(redis: redis, keys: keys, clock: clock)
        self.actions = Actions(redis: redis, keys: keys, time: time, policy: actions)
        reloads = ReloadRequests(redis: redis, keys: keys, clock: clock)
        alarms = Alarms(redis: redis, keys: keys, clock: clock, events: events)
        quarantine = Quarantine(redis: redis, keys: keys, registry: registry, alarms: alarms, clock: clock)
        deadLetters = DeadLetters(redis: redis, keys: keys, pushes: pushes, queue: queue, clock: clock)
        broadcasts = Broadcasts(redis: redis, keys: keys, endings: endings)
        automaticEnds = AutomaticEnds(redis: redis, keys: keys, tokens: tokens, names: names, pushes: pushes)
        forgetting = Forgetting(
            redis: redis, keys: keys, registry: registry, followings: followings, channels: channels, clock: clock)
    }

    /// This store with other quotas. It shares everything else.
    public func limited(quotas: [Quota: Int]) -> Store {
        var store = self
        store.registry.quotas.limits = quotas
        store.channels.quotas.limits = quotas
        return store
    }

    /// This store for calls that everybody with the app can make: the last tenth of each quota is not for them. It
    /// shares everything else.
    public func forApps() -> Store {
        var store = self
        store.registry = store.registry.forApps()
        store.channels.quotas.areForApps = true
        return store
    }

    /// Asks whether Redis answers. In a cluster it asks the node that every publish needs.
    public static var ping: RedisCommand { RedisCommand("PING", near: Keyspace.queue) }
    public func ping() async throws(StoreError) { try await redis.run(Self.ping) }
    /// All scripts, to be given to `RedisClient`.
    public static let scripts: [RedisScript] = Lua.all
}

/// Parts that only need Redis and the keys, so each is made when it is asked for.
extension Store {
    public var traces: ExchangeLog { ExchangeLog(redis: redis, keys: keys) }
    public var schemas: Schemas { Schemas(redis: redis, keys: keys) }
    public var heartbeats: Heartbeats { Heartbeats(redis: redis, keys: keys) }
    public var credentials: Credentials { Credentials(redis: redis, keys: keys) }
    public var rates: Rates { Rates(redis: redis, keys: keys) }
    public var tokenVerdicts: TokenVerdicts { TokenVerdicts(redis: redis, keys: keys) }
    public var otherEnvironment: OtherEnvironment { OtherEnvironment(redis: redis, keys: keys) }
    public var deliveryRates: DeliveryRates { DeliveryRates(redis: redis, keys: keys) }
    public var providerTokens: ProviderTokens { ProviderTokens(redis: redis, keys: keys) }
    public var console: ConsoleStore { ConsoleStore(redis: redis, keys: keys) }
}

/// Each of these blocks on a connection of its own, so that nothing else waits behind it.
extension Store {
    /// Readers of work, one for each partition.
    public func readers() -> [WorkReader] { keys.allPartitions.map(reader) }

    func reader(_ partition: Partition) -> WorkReader {
        WorkReader(connection: redis.blockingConnection(), queue: queue, partition: partition)
    }

    /// A reader of outgoing events, with a connection of its own for each call of this.
    public func eventReader() -> EventReader {
        EventReader(connection: redis.blockingConnection(), redis: redis, keys: keys)
    }
}
