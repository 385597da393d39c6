public import LiveActivity

/// Which publishes of a caller with the scope `propose` wait for a second person. The event alone decides: counts of
/// devices change while somebody thinks, and a rule about them is passed by sending in parts.
public enum ApprovalRule: String, Sendable, Hashable, CaseIterable {
    case all
    case startsAndEnds = "starts_and_ends"
    case ends

    public func covers(_ event: ActivityEvent) -> Bool {
        switch self {
        case .all: true
        case .startsAndEnds: event != .update
        case .ends: event == .end
        }
    }
}
