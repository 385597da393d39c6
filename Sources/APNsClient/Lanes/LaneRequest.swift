internal import LiveActivity

/// One request, either queued again or in flight.
struct LaneRequest<Template> {
    let part: PartInFlight<Template>
    /// Index of the entry in the part's page.
    let index: Int
    /// The number of the provider token that it carries, as `LaneInbox` counts them.
    var tokenNumber = 0
    /// The request was already repeated with another provider token.
    var hasRenewed = false
    /// The request was already repeated with another key.
    var hasChangedKey = false
    /// When it was first handed over, monotonic milliseconds.
    var since: Int64
    /// When it was last handed over, monotonic milliseconds.
    var handedAt: Int64

    /// That of a request that is about to be sent.
    var token: [UInt8] { Array(part.sending.page.token(index)) }
}
