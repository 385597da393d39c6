enum Disturbance: Sendable {
    /// kill -9, and a restart after this many milliseconds.
    case kill(Role, down: Int)
    /// SIGSTOP, and SIGCONT after this many milliseconds.
    case stop(Role, for: Int)
    /// SIGTERM. When the process has ended, it is started again.
    case terminate(Role)
    /// SIGTERM. When the process has ended, the other release takes its place.
    case upgrade(Role, to: UpgradeOrder.Release)
    /// SIGTERM for all. When the last one has ended, the new release takes their places.
    case upgradeAll([Role])
    /// A command for one server.
    case redis(String)
}

/// Faults of the simulator for a while: fields of its faults, as JSON without the braces.
struct APNsFault: Sendable {
    var title: String
    var faults: String
    /// Whether doubted tokens get their 410s.
    var doubts: Bool
    var milliseconds: Int
}
