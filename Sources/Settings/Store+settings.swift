public import Redis
public import Store

/// The store of gateways, workers and commands. They build it here alone, so that none leaves a setting out.
extension Store {
    /// Connects with the first command.
    /// - Parameter answersPublishers: whether the process answers publishers, for whom `redis.wait_replicas` is. Other
    ///   processes ask no replicas.
    public init(_ settings: Settings, redis: RedisClient, answersPublishers: Bool = false) {
        var replicas: ReplicaPolicy?
        if answersPublishers, settings.waitReplicas > 0 {
            replicas = ReplicaPolicy(replicas: settings.waitReplicas, timeout: settings.waitTimeout)
        }
        self.init(
            redis: redis, prefix: settings.redisPrefix, replicas: replicas, channelLife: settings.channelsExpireAfter,
            retention: settings.pushesExpireAfter, quotas: settings.quotas, events: settings.eventPolicies,
            actions: settings.actions, notes: FollowingNote.all)
    }
}
