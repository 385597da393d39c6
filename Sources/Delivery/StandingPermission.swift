/// For senders that share their work with no other process.
public struct StandingPermission: SendPermission {
    public init() {}
    public var holds: Bool { true }
}
