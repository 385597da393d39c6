/// Says whether a sender may still begin requests. A lane's thread asks before each, so it must be cheap and not block.
public protocol SendPermission: Sendable {
    var holds: Bool { get }
}
