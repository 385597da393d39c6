public enum PushOutcome: Sendable, Hashable {
    /// APNs answered 200.
    case accepted
    case rejected(Rejection)
    /// APNs did not answer.
    case unanswered(NoAnswer)
}
