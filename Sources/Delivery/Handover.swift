/// Lets a transport return a page before each request has its answer (docs/adr/0035-open-requests.md).
public struct Handover: Sendable {
    /// A page is nearly done when at most one of so many entries is left.
    static let nearlyDoneShare = 16

    /// Called once, from any thread, when the page is nearly done. The sender may begin another page then.
    public var nearlyDone: (@Sendable () -> Void)?

    public init(nearlyDone: (@Sendable () -> Void)? = nil) { self.nearlyDone = nearlyDone }
}
