import LiveActivity
import Redis

/// Keys of the registry and the channels.
extension Keyspace {
    /// Bucket `index` of a name; bucket 0 is the root, whose field `n` counts the buckets.
    func bucket(_ tag: String, _ index: Int) -> RedisKey { index == 0 ? root(tag) : RedisKey("\(root(tag)):\(index)") }
    /// Values of the whole deployment. Field `hash_key` is the key for hashes of channels.
    var deployment: RedisKey { key("meta") }
    /// The app's names: a sorted set with equal scores, so in byte order.
    func names(_ app: AppKey) -> RedisKey { key("names:{\(app)}") }

    /// A HyperLogLog of the ids that calls named in one period (Quotas.swift).
    func seen(_ app: AppKey, _ quota: Quota, _ period: Int64) -> RedisKey {
        key("seen:{\(app)}:\(quota.rawValue):\(period)")
    }

    /// One channel: `created`, `seen` and `renewed` (epoch ms), `v`, and a field for each of its sets
    /// (Channels+membership.swift).
    func channel(_ app: AppKey, _ channel: ChannelID) -> RedisKey {
        key("c:{\(app):\(Self.escaped(channel.description))}")
    }
    /// The channels that have a tag (`t`) or belong to a named user (`u`). Each set has its own slot, so that large
    /// sets are spread over a cluster.
    func members(_ app: AppKey, _ set: AudienceSet) -> RedisKey {
        switch set {
        case .tag(let tag, let group): key("t:{\(app):\(Self.escapedPart(group)):\(Self.escapedPart(tag))}")
        case .namedUser(let user): key("u:{\(app):\(Self.escapedPart(user))}")
        }
    }

    /// Escapes one of several parts that are separated by colons.
    static func escapedPart(_ text: String) -> String {
        escaped(text).percentEncoded { $0 == UInt8(ascii: ":") }
    }
}
