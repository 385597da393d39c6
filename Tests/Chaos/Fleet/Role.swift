enum Role: Sendable, Hashable, CustomStringConvertible {
    case redis, simulator
    /// A node of a cluster, which takes the place of the one Redis.
    case node(Int)
    case gateway(Int), worker(Int)

    var isRedis: Bool {
        switch self {
        case .redis, .node: true
        case .simulator, .gateway, .worker: false
        }
    }

    var description: String {
        switch self {
        case .redis: "redis"
        case .simulator: "simulator"
        case .node(let number): "node-\(number)"
        case .gateway(let number): "gateway-\(number)"
        case .worker(let number): "worker-\(number)"
        }
    }
}
