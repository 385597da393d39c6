/// The facts by which a name's late joiners are judged, read at one moment.
public struct CurrentStates: Sendable {
    /// Sequence number of the last push that began, as text.
    let begun: String
    /// Pushes that have not begun, the newest first. Their sweeps find all channels that follow by then.
    public var notBegun: [PushRecord] = []
    /// The newest begun push for each audience, the newest first.
    public var kept: [PushRecord] = []
}
