import LiveActivity
import Redis

/// Keys of the registry and the channels.
extension Keyspace {
    /// Bucket `index` of a name; bucket 0 is the root, whose field `n` counts the buckets.
    func bucket(_ tag: String, _ index: Int) -> String { index == 0 ? root(tag) : "\(root(tag)):\(index)" }
    /// What the whole deployment shares; field `hash_key` is the key of the channels' hash.
    var deployment: String { "\(prefix):meta" }
    /// The app's names, a sorted set with equal scores: in byte order.
    func names(_ app: AppKey) -> String { "\(prefix):names:{\(app)}" }

    /// One install: `created` and `seen` (epoch ms), `v`, and a field for each set it is in (Channels+membership.swift).
    func channel(_ app: AppKey, _ channel: ChannelID) -> String {
        "\(prefix):c:{\(app):\(Self.escaped(channel.description))}"
    }
    /// A set of channels: those with a tag (`t`) or those of a named user (`u`). Each has a slot of its own, so that large
    /// sets spread over a cluster.
    func members(_ app: AppKey, _ set: AudienceSet) -> String {
        switch set {
        case .tag(let tag, let group): "\(prefix):t:{\(app):\(Self.escapedPart(group)):\(Self.escapedPart(tag))}"
        case .namedUser(let user): "\(prefix):u:{\(app):\(Self.escapedPart(user))}"
        }
    }

    /// One of several parts that colons separate.
    static func escapedPart(_ text: String) -> String {
        escaped(text).percentEncoded { $0 == UInt8(ascii: ":") }
    }
}
