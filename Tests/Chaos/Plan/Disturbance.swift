enum Disturbance: Sendable {
    /// kill -9, and a restart after this many milliseconds.
    case kill(Role, down: Int)
    /// SIGSTOP, and SIGCONT after this many milliseconds.
    case stop(Role, for: Int)
    /// SIGTERM. When the process has ended, it is started again.
    case terminate(Role)
    /// SIGTERM. When the process has ended, the other release takes its place.
    case upgrade(Role, to: UpgradeOrder.Release)
    /// The clock of the process's machine is set to this many seconds ahead of the true time; negative: behind.
    case clock(Role, ahead: Int)
    /// Sentinel makes the replica the primary, as for maintenance.
    case failover
    /// A command for one server.
    case redis(String)
}

/// For a while APNs does not answer for the first living tokens of a name.
struct Silence: Sendable {
    /// The name's index.
    var name: Int
    /// How many of the first places.
    var places: Int
    var milliseconds: Int
}

/// Faults of the simulator for a while: fields of its faults, as JSON without the braces.
struct APNsFault: Sendable {
    var title: String
    var faults: String
    /// Whether doubted tokens get their 410s.
    var doubts: Bool
    var milliseconds: Int
}
