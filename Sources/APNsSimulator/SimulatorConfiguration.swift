/// How a simulator is set up. Every default is what Apple documents or what the field reports; only
/// `certificateDirectory` has none.
public struct SimulatorConfiguration: Sendable, Hashable {
    /// All listeners (APNs, channel management, control) bind to this address and to no other.
    public var host = "127.0.0.1"
    /// TLS HTTP/2, as `api.push.apple.com:443`; 0 = any free port.
    public var port = 0
    /// Plain HTTP/1.1 for `/simulator/…`; 0 = any free port, nil = no control interface.
    public var controlPort: Int? = 0
    /// Channel management as `api-manage-broadcast.push.apple.com:2196`; 0 = any free port, nil = none.
    public var managePort: Int? = 0
    /// Broadcast channels that one app may have. Apple: 10,000.
    public var channelLimit = 10_000
    /// Receives `ca.pem` (for a client's `ca_file`), the private keys (mode 0600), and a provider key when `keys` is
    /// empty. Made if missing; a CA found there that is still valid is used again.
    public var certificateDirectory: String
    /// Seconds until the server's certificate expires, from the start; 0 or less = it has expired.
    public var certificateLife = 365 * 86_400
    /// Who may send. Empty: one key is made in `certificateDirectory` (`APNsSimulator.keys` tells which).
    public var keys: [ProviderKey] = []
    /// Bundle ids of the team whose key is made here; empty = any.
    public var bundleIDs: [String] = []
    /// `SETTINGS_MAX_CONCURRENT_STREAMS` of a new connection.
    public var initialStreams = 1
    /// The same after the connection's first request with a valid provider token.
    public var streams = 1_000
    /// What a client gets that opens more streams than the limit it has acknowledged.
    public var excessStreams = ExcessStreams.goaway
    /// Provider tokens that a client may present within `providerTokenWindow` seconds after its first one before
    /// 429 TooManyProviderTokenUpdates; nil = no limit. Apple: "no more than once every 20 minutes".
    public var providerTokenUpdates: Int? = 1
    public var providerTokenWindow = 20 * 60
    public var providerTokenScope = ProviderTokenScope.connection
    /// Seconds that a provider token is good for, counted from its `iat`.
    public var providerTokenLifetime = 60 * 60
    /// How far ahead of this simulator's clock an `iat` may lie, in seconds. Apple names no tolerance.
    public var clockTolerance = 5
    /// Added to the machine's clock, in seconds: makes provider tokens expire without waiting for it.
    public var clockOffset = 0
    /// Lengths of device tokens that are taken for real, in bytes; others are BadDeviceToken. Apple names none.
    public var tokenBytes = 32...512
    public var faults = Faults()
    /// Replaces `faults` as its phases come.
    public var scenario: Scenario?
    /// Decides which tokens are dead and which requests meet a fault: the same seed, the same tokens and the same
    /// attempts give the same answers.
    public var seed: UInt64 = 1
    /// Counters only: nothing is kept of a single token, and its payload is not read. For benchmarks.
    public var fast = false
    /// Requests kept per token, newest last.
    public var history = 16
    /// A member of `content-state` whose whole number a publisher only ever raises: the record then tells whether any
    /// token got a lower one after a higher one. Timestamps cannot tell within a second.
    public var orderMember: String?
    /// Event loop threads. One keeps the answers' order reproducible.
    public var threads = 1

    public init(certificateDirectory: String) {
        self.certificateDirectory = certificateDirectory
    }
}

/// A provider's signing key as APNs knows it.
public struct ProviderKey: Sendable, Hashable {
    /// The JWT's `kid`.
    public var keyID: String
    /// The JWT's `iss`.
    public var teamID: String
    public var material: Material
    /// Bundle ids of the team; empty = any.
    public var bundleIDs: [String]

    public enum Material: Sendable, Hashable {
        /// PEM text of a P-256 key, public (`PUBLIC KEY`) or private (Apple's `.p8`): only the public half is used.
        case pem(String)
        /// A file with such a text.
        case file(String)
    }

    public init(keyID: String, teamID: String, material: Material, bundleIDs: [String] = []) {
        self.keyID = keyID
        self.teamID = teamID
        self.material = material
        self.bundleIDs = bundleIDs
    }
}

public enum ExcessStreams: String, Sendable, Hashable, Codable {
    /// GOAWAY with a JSON reason; the excess request is not processed (field).
    case goaway
    /// RST_STREAM with REFUSED_STREAM (RFC 9113, 5.1.2).
    case refuse
}

/// Where different provider tokens are counted against `providerTokenUpdates`.
public enum ProviderTokenScope: String, Sendable, Hashable, Codable {
    /// On each connection by itself: senders on several machines sign for themselves.
    case connection
    /// Over all connections of a key.
    case key
}
