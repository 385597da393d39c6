public import LiveActivity

public enum LateDecision: Sendable, Hashable {
    /// Queue this push, which has that sequence number, for the channel.
    case put(PushID, sequence: Int)
    /// The channel gets nothing.
    case drop
}
