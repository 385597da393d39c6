package import LiveActivity
package import Redis

extension Keyspace {
    /// A part of the index from channels to the places where they have tokens.
    package func followings(_ app: AppKey, _ bucket: Int) -> RedisKey { key("fo:{\(app):\(bucket)}") }
    /// The app's large names, by when a worker is to look whether they are still large (epoch ms).
    package func largeNames(_ app: AppKey) -> RedisKey { key("ln:{\(app)}") }
    /// An app's named users: a sorted set with equal scores, so in byte order.
    package func namedUsers(_ app: AppKey) -> RedisKey { key("nu:{\(app)}") }
    /// Channels that are to be forgotten, by when a worker is to look at them (epoch ms). `ForgetStep` has the members.
    package func forgetSteps(_ app: AppKey) -> RedisKey { key("fg:{\(app)}") }
    /// Bucket `index` of a name; bucket 0 is the root, whose field `n` counts the buckets.
    package func bucket(_ tag: String, _ index: Int) -> RedisKey {
        index == 0 ? root(tag) : RedisKey("\(root(tag)):\(index)")
    }
    /// Values of the whole deployment. Field `hash_key` is the key for hashes of channels.
    package var deployment: RedisKey { key("meta") }
    /// The app's names: a sorted set with equal scores, so in byte order.
    package func names(_ app: AppKey) -> RedisKey { key("names:{\(app)}") }

    /// A HyperLogLog of the ids that calls named in one period (Quotas.swift).
    package func seen(_ app: AppKey, _ quota: Quota, _ period: Int64) -> RedisKey {
        key("seen:{\(app)}:\(quota.rawValue):\(period)")
    }

    /// One channel: `created`, `seen`, `renewed` (epoch ms), `v`, and a field for each set (Channels+membership.swift).
    package func channel(_ app: AppKey, _ channel: ChannelID) -> RedisKey {
        key("c:{\(app):\(Self.escaped(channel.description))}")
    }
    /// The channels with a tag (`t`) or of a named user (`u`). Each set has a slot of its own, to spread large sets.
    package func members(_ app: AppKey, _ set: AudienceSet) -> RedisKey {
        let (kind, text) = Self.kindAndText(set)
        return key("\(kind):{\(app):\(text)}")
    }
    /// The key of the set that a field of a channel's record stands for; nil for a field that stands for none.
    package func members(_ app: AppKey, field: String) -> RedisKey? {
        guard let parts = field.cut(at: UInt8(ascii: ":")), ["t", "u"].contains(parts.head) else { return nil }
        return key("\(parts.head):{\(app):\(parts.tail)}")
    }
    package static func field(_ set: AudienceSet) -> String {
        let (kind, text) = kindAndText(set)
        return "\(kind):\(text)"
    }
    /// iOS 18 is stored like a tag, in a group that no tag can have.
    private static func kindAndText(_ set: AudienceSet) -> (kind: String, text: String) {
        switch set {
        case .tag(let tag, let group): ("t", "\(escapedPart(group)):\(escapedPart(tag))")
        case .namedUser(let user): ("u", escapedPart(user))
        case .iOS18: ("t", "\u{1}ios:18")
        }
    }

    /// Escapes one of several parts that are separated by colons.
    package static func escapedPart(_ text: String) -> String {
        escaped(text).percentEncoded { $0 == UInt8(ascii: ":") }
    }
}

/// A kind of thing of which an app may have a limited number.
public enum Quota: String, Sendable, Hashable, CaseIterable {
    case names, channels, followers, tags
    case startTokens = "start_tokens"

    public var setting: String { "limits.\(rawValue)" }
}
