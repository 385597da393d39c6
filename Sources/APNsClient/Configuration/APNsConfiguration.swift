internal import LiveActivity

/// Where one app sends to, and with which credentials.
public struct APNsConfiguration: Sendable {
    /// `https://host[:port]`, no path.
    public var origin: String
    public var keys: APNsKeyRing
    /// PEM file of the root certificates for a server other than Apple's; nil: the system's.
    public var caFile: String?
    /// Threads, each with one connection. One thread sends about 40,000 requests a second.
    public var lanes: Int
    /// The most requests in flight on one connection, whatever the server allows.
    public var maximumStreams: Int
    /// The time for one request, from handing it over to its answer; also the time for making a connection.
    public var requestTimeout: Duration
    /// Lets processes agree on one provider token. Nil: this process signs its own.
    public var share: (any ProviderTokenShare)?
    /// Epoch milliseconds, by which provider tokens are dated and `Retry-After` dates are read. A worker gives Redis's
    /// time, because all workers share a token and their machines' clocks may be wrong.
    public var clock: @Sendable () -> Int64 = wallClock
    /// The app's key: the label of its metrics.
    public var app = ""
    /// How long a lane waits for the share's answer before it makes a token of its own.
    public var sharePatience = ProviderTokenSource.patience

    public init(
        origin: String, keys: APNsKeyRing, caFile: String? = nil, lanes: Int = 1, maximumStreams: Int = 1_000,
        requestTimeout: Duration = .seconds(10), share: (any ProviderTokenShare)? = nil
    ) {
        self.origin = origin
        self.keys = keys
        self.caFile = caFile
        self.lanes = lanes
        self.maximumStreams = maximumStreams
        self.requestTimeout = requestTimeout
        self.share = share
    }

    /// Makes a configuration with a single key. `keyPEM` is the text of its .p8 file.
    public init(
        origin: String, teamID: String, keyID: String, keyPEM: [UInt8], caFile: String? = nil,
        requestTimeout: Duration = .seconds(10), share: (any ProviderTokenShare)? = nil
    ) {
        self.init(
            origin: origin, keys: APNsKeyRing([APNsKey(teamID: teamID, keyID: keyID, pem: keyPEM)]), caFile: caFile,
            requestTimeout: requestTimeout, share: share)
    }
}
