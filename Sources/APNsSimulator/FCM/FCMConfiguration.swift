/// The settings of FCM, and of Google's endpoint for access tokens, on one port of the simulator.
public struct FCMConfiguration: Sendable, Hashable {
    /// TLS and HTTP/2, like `fcm.googleapis.com:443` and `oauth2.googleapis.com:443`. 0 picks any free port.
    public var port = 0
    public var projectID = "lamplighter-simulator"
    /// The messages that the project may send in a minute. Google's default is 600,000. Nil: no limit.
    public var quotaPerMinute: Int?
    /// Seconds for which an access token is valid.
    public var accessTokenLife = 3_599
    /// `SETTINGS_MAX_CONCURRENT_STREAMS` of each connection. A client that opens one more gets GOAWAY.
    public var streams = 100
    /// Seconds after which a connection without a request is closed.
    public var idleTimeout = 180.0
    public var faults = Faults()

    public init() {}

    func validate() throws(SimulatorError) {
        func need(_ condition: Bool, _ field: String, _ text: String) throws(SimulatorError) {
            if !condition { throw .configuration(field: field, text) }
        }
        try need((0...65_535).contains(port), "fcm_port", "\(port) is not 0 to 65535")
        let isPlain = projectID.utf8.allSatisfy {
            (0x61...0x7a).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2d
        }
        try need(isPlain && !projectID.isEmpty, "fcm_project", "has other characters than a-z, 0-9 and -")
        try need((quotaPerMinute ?? 1) >= 1, "fcm_quota", "is not 1 or more; leave it out for no limit")
        try need(accessTokenLife >= 1, "access_token_life", "\(accessTokenLife) is not 1 or more")
        try need((1...0x7fff_ffff).contains(streams), "streams", "\(streams) is not 1 or more")
        try need((0.001...86_400).contains(idleTimeout), "idle_timeout", "\(idleTimeout) is not 0.001 to 86400 seconds")
        try faults.validate(at: "fcm_faults", FCMReason.self)
    }
}
