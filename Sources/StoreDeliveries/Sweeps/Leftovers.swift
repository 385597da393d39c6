/// Work that may be left after a page is settled. Doing it twice is harmless.
public struct Leftovers: Sendable, Hashable {
    /// Other pushes of the name wait to begin.
    public var nameWaits: Bool
    /// When the name's first waiting channel is due, epoch ms.
    public var firstRetry: Int64?
    /// Removals are pending that the caller does not know of.
    public var hasPendingRemovals: Bool
    /// The shards of the push are finished, but its catch-up is not.
    public var catchUpWaits = false
}
