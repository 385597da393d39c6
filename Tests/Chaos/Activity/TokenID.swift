/// The registration to which a token belongs. A token is never used twice, because each registration of a channel under
/// a name is another generation.
struct TokenID: Sendable, Hashable {
    var name: UInt16
    /// The channel's place in the name's pool.
    var place: UInt32
    var generation: UInt16
    var fate: Fate
}
