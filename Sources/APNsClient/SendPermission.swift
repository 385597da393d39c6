/// Says whether a sender may still begin requests. A lane's thread asks before each request, so it must be cheap and
/// must not block.
public protocol SendPermission: Sendable {
    var holds: Bool { get }
}
