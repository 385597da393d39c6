enum Role: Sendable, Hashable, CustomStringConvertible {
    case redis, simulator
    /// A node of a cluster, which takes the place of the one Redis.
    case node(Int)
    /// A primary or a replica that sentinels watch, and one of these.
    case server(Int), sentinel(Int)
    case gateway(Int), worker(Int)

    var isRedis: Bool {
        switch self {
        case .redis, .node, .server, .sentinel: true
        case .simulator, .gateway, .worker: false
        }
    }

    /// A gateway or a worker.
    var isOurs: Bool {
        switch self {
        case .gateway, .worker: true
        case .redis, .simulator, .node, .server, .sentinel: false
        }
    }

    var description: String {
        switch self {
        case .redis: "redis"
        case .simulator: "simulator"
        case .node(let number): "node-\(number)"
        case .server(let number): "redis-\(number)"
        case .sentinel(let number): "sentinel-\(number)"
        case .gateway(let number): "gateway-\(number)"
        case .worker(let number): "worker-\(number)"
        }
    }
}
