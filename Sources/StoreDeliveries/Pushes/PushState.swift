public enum PushState: String, Sendable, Hashable, CaseIterable {
    case scheduled, queued, sending, done, failed, superseded, expired, cancelled
    public var isFinal: Bool {
        switch self {
        case .scheduled, .queued, .sending: false
        case .done, .failed, .superseded, .expired, .cancelled: true
        }
    }
}
