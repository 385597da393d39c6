/// Where a connection goes, and the settings that its requests share.
public struct ServerAddress: Sendable, Hashable {
    /// `https://host[:port]`
    public var origin: String
    /// PEM file of the root certificates; nil: the system's.
    public var caFile: String?
    /// The time for each request, from when it is handed to libcurl; also the time for making the connection.
    public var requestTimeoutMilliseconds: Int

    public init(origin: String, caFile: String?, requestTimeoutMilliseconds: Int) {
        self.origin = origin
        self.caFile = caFile
        self.requestTimeoutMilliseconds = requestTimeoutMilliseconds
    }
}
