/// The settings of a simulator. Every default is what Apple documents or what operators of real senders report.
public struct SimulatorConfiguration: Sendable, Hashable {
    /// The address of all listeners (APNs, channel management, control). They bind to no other.
    public var host = "127.0.0.1"
    /// TLS and HTTP/2, like `api.push.apple.com:443`. 0 picks any free port.
    public var port = 0
    /// Plain HTTP/1.1 for `/simulator/…`. 0 picks any free port, and nil means no control interface.
    public var controlPort: Int? = 0
    /// Channel management, like `api-manage-broadcast.push.apple.com:2196`. 0 picks any free port, and nil means none.
    public var managePort: Int? = 0
    /// FCM, Google's push service for Android. Nil means none.
    public var fcm: FCMConfiguration?
    /// The most broadcast channels of one app. Apple's limit is 10,000.
    public var channelLimit = 10_000
    /// The directory for `ca.pem` (for a client's `ca_file`), the private keys (mode 0600), and a provider key if
    /// `keys` is empty. It is created if missing. A valid CA in it is used again.
    public var certificateDirectory: String
    /// Seconds from the start until the server's certificate expires. With 0 or less it has already expired.
    public var certificateLife = 365 * 86_400
    /// The keys whose owners may send. If empty, one key is made in `certificateDirectory`.
    public var keys: [ProviderKey] = []
    /// How many keys are made in `certificateDirectory` if `keys` is empty: 1 or 2.
    public var ownKeys = 1
    /// Keys that are for one environment only, by id. Keys that the simulator makes may be among them.
    public var keyEnvironments: [String: ProviderKey.Environment] = [:]
    /// The environment that this simulator is. A key for the other one gets 403 BadEnvironmentKeyInToken.
    public var environment = ProviderKey.Environment.production
    /// Bundle ids of the team whose key is made here. Empty means any.
    public var bundleIDs: [String] = []
    /// `SETTINGS_MAX_CONCURRENT_STREAMS` of a new connection.
    public var initialStreams = 1
    /// `SETTINGS_MAX_CONCURRENT_STREAMS` after the connection's first request with a valid provider token.
    public var streams = 1_000
    /// The reaction to a client that opens more streams than the limit that it has acknowledged.
    public var excessStreams = ExcessStreams.goaway
    /// How many further provider tokens a client may use within `providerTokenWindow` seconds before it gets 429
    /// TooManyProviderTokenUpdates. Nil means no limit. Apple: "no more than once every 20 minutes".
    public var providerTokenUpdates: Int? = 1
    public var providerTokenWindow = 20 * 60
    public var providerTokenScope = ProviderTokenScope.connection
    /// Seconds for which a provider token is valid, counted from its `iat`.
    public var providerTokenLifetime = 60 * 60
    /// The most seconds that an `iat` may be ahead of this simulator's clock. Apple documents no tolerance.
    public var clockTolerance = 5
    /// Seconds added to the machine's clock. A test can so make provider tokens expire without waiting.
    public var clockOffset = 0
    /// The lengths in bytes of valid device tokens. Others are BadDeviceToken. Apple documents no length.
    public var tokenBytes = 32...512
    public var faults = Faults()
    /// Replaces `faults` as its phases begin.
    public var scenario: Scenario?
    /// Decides about dead tokens and faulty requests. The same seed, tokens and attempts give the same responses.
    public var seed: UInt64 = 1
    /// Keeps counters only: no record of single tokens, and payloads are not read. For benchmarks.
    public var fast = false
    /// How many requests are kept per token, newest last.
    public var history = 16
    /// A member of `content-state` with a whole number that the publisher only ever raises. The record then tells
    /// whether a token got a lower number after a higher one. Timestamps cannot tell that within a second.
    public var orderMember: String?
    /// How many event loop threads there are. With one, the order of responses is reproducible.
    public var threads = 1

    public init(certificateDirectory: String) { self.certificateDirectory = certificateDirectory }
}

public enum ExcessStreams: String, Sendable, Hashable, Codable {
    /// Sends GOAWAY with a JSON reason and does not process the excess request. Operators of real senders report this.
    case goaway
    /// Sends RST_STREAM with REFUSED_STREAM (RFC 9113, 5.1.2).
    case refuse
}

/// The scope in which different provider tokens are counted against `providerTokenUpdates`.
public enum ProviderTokenScope: String, Sendable, Hashable, Codable {
    /// On each connection alone, so that senders on several machines may each sign their own tokens.
    case connection
    /// On all connections of a key together.
    case key
}
