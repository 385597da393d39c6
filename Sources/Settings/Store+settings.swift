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
            retention: settings.pushesExpireAfter, tagsPerChannel: settings.tagsPerChannel,
            maximumSchemas: settings.maximumSchemas, quotas: settings.quotas, events: settings.eventPolicies,
            actions: settings.actions)
    }

    /// This store with the limits of settings that were read again. It shares everything else.
    public func limited(by settings: Settings) -> Store {
        limited(
            tagsPerChannel: settings.tagsPerChannel, maximumSchemas: settings.maximumSchemas, quotas: settings.quotas)
    }

    /// This store without quotas. It shares everything else. A restore writes back what was once allowed, also above a
    /// quota that is lower now.
    public func withoutQuotas() -> Store {
        limited(tagsPerChannel: channels.maximumTags, maximumSchemas: schemas.maximum, quotas: [:])
    }
}
