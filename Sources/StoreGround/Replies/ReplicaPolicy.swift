/// How many replicas must have a publish before it is accepted, and how long they may take.
public struct ReplicaPolicy: Sendable, Hashable {
    public var replicas: Int
    public var timeout: Duration

    public init(replicas: Int, timeout: Duration = .seconds(1)) {
        self.replicas = replicas
        self.timeout = timeout
    }
}
