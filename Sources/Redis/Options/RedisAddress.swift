enum RedisAddress: Sendable, Hashable, CustomStringConvertible {
    case tcp(host: String, port: Int)
    case unix(path: String)

    var description: String {
        switch self {
        case .tcp(let host, let port): (host.contains(":") ? "[\(host)]" : host) + ":\(port)"
        case .unix(let path): path
        }
    }
}
