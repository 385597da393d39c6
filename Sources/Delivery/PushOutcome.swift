public enum PushOutcome: Sendable, Hashable {
    /// The platform answered 200.
    case accepted
    case rejected(Rejection)
    /// The platform did not answer.
    case unanswered(NoAnswer)
}
