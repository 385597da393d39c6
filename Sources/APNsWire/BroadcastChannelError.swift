public import Delivery
public import LiveActivity

/// Why a broadcast channel was not made, read, listed or deleted.
public enum BroadcastChannelError: Error, Sendable, Hashable, CustomStringConvertible {
    case rejected(BroadcastChannelRequest, Rejection)
    /// No answer, with libcurl's error text. `mayHaveHappened`: the request may have reached APNs.
    case unanswered(BroadcastChannelRequest, String, mayHaveHappened: Bool)
    /// APNs answered with success, but the answer cannot be read.
    case unreadable(BroadcastChannelRequest, String)
    /// No provider token could be signed.
    case unsigned(String)

    public var reason: RejectionReason.Known? {
        if case .rejected(_, let rejection) = self { RejectionReason.Known(rawValue: rejection.reason) } else { nil }
    }

    /// The answer that APNs would give if the app already has all the channels it may have.
    public static func full(_ storage: BroadcastStorage) -> BroadcastChannelError {
        .rejected(.create(storage), Rejection(status: 400, reason: .known(.cannotCreateChannelConfig)))
    }

    /// The request may have taken effect.
    public var mayHaveHappened: Bool {
        switch self {
        case .unanswered(_, _, let mayHaveHappened): mayHaveHappened
        case .unreadable: true
        case .rejected, .unsigned: false
        }
    }

    /// The same call may succeed later without a change by an operator.
    public var isRetriable: Bool {
        switch self {
        case .rejected(_, let rejection):
            [.retry, .retryOnFreshConnection, .renewCredential, .useEarlierCredential].contains(rejection.verdict)
        case .unanswered: true
        case .unreadable, .unsigned: false
        }
    }

    public var description: String {
        switch self {
        case .rejected(let request, let rejection):
            "APNs does not \(request.phrase): \(rejection.status) \(rejection.reason)\(advice.map { "; \($0)" } ?? "")"
        case .unanswered(let request, let message, _): "APNs could not be asked to \(request.phrase): \(message)"
        case .unreadable(let request, let message): "APNs was asked to \(request.phrase), but \(message)"
        case .unsigned(let message): "no provider token could be signed: \(message)"
        }
    }

    private var advice: String? {
        switch reason {
        case .featureNotEnabled: "switch on Broadcast Capability for the bundle id at developer.apple.com"
        case .cannotCreateChannelConfig: "the app has its 10,000 channels: delete some"
        case .topicMismatch: "the key's team does not own the bundle id"
        case .channelNotRegistered: "there is no such channel of this app in this environment"
        default: nil
        }
    }
}

extension BroadcastChannelRequest {
    /// The request in an error text.
    var phrase: String {
        switch self {
        case .create: "make a channel"
        case .read: "show the channel"
        case .delete: "delete the channel"
        case .list: "list the channels"
        }
    }
}
