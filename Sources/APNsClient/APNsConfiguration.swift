/// Where and as whom one app sends.
public struct APNsConfiguration: Sendable {
    /// `https://host[:port]`, no path.
    public var origin: String
    public var teamID: String
    public var keyID: String
    /// PEM of the .p8 file.
    public var keyPEM: [UInt8]
    /// PEM file of the roots for a server other than Apple's; nil = the system's.
    public var caFile: String?
    /// Threads, each with one connection. One moves about 40,000 requests a second.
    public var lanes: Int
    /// Upper bound of requests in flight on one connection, whatever the server allows.
    public var maximumStreams: Int
    /// From handing one request over to having its answer; also of making a connection.
    public var requestTimeout: Duration
    /// Through which processes agree on one provider token; nil: this one signs for itself.
    public var share: (any ProviderTokenShare)?

    public init(
        origin: String, teamID: String, keyID: String, keyPEM: [UInt8], caFile: String? = nil, lanes: Int = 1,
        maximumStreams: Int = 1_000, requestTimeout: Duration = .seconds(10),
        share: (any ProviderTokenShare)? = nil
    ) {
        self.origin = origin
        self.teamID = teamID
        self.keyID = keyID
        self.keyPEM = keyPEM
        self.caFile = caFile
        self.lanes = lanes
        self.maximumStreams = maximumStreams
        self.requestTimeout = requestTimeout
        self.share = share
    }
}
