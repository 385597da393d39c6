public import Delivery

/// FCM's reasons: its `errorCode`, or else its `status`. This is the only table of them in the program.
public enum FCMReason: String, Sendable, Hashable, CaseIterable {
    case unregistered = "UNREGISTERED"
    case notFound = "NOT_FOUND"
    case senderIDMismatch = "SENDER_ID_MISMATCH"
    /// Our word for an `INVALID_ARGUMENT` that is the device's address.
    case invalidRegistration = "INVALID_REGISTRATION"
    case invalidArgument = "INVALID_ARGUMENT"
    case unauthenticated = "UNAUTHENTICATED"
    case thirdPartyAuthError = "THIRD_PARTY_AUTH_ERROR"
    case permissionDenied = "PERMISSION_DENIED"
    case quotaExceeded = "QUOTA_EXCEEDED"
    case resourceExhausted = "RESOURCE_EXHAUSTED"
    case `internal` = "INTERNAL"
    case unavailable = "UNAVAILABLE"

    /// Nil: it depends on the rest of the answer.
    public var verdict: Verdict? {
        switch self {
        case .unregistered: .pruneIfOlder
        // FCM also answers a wrong project so, and a service account of another project.
        case .notFound, .senderIDMismatch, .invalidRegistration: .pruneToken
        case .invalidArgument: nil
        case .unauthenticated, .thirdPartyAuthError: .renewCredential
        case .permissionDenied: .haltApp
        case .quotaExceeded, .resourceExhausted: .pauseApp
        case .internal, .unavailable: .retry
        }
    }
}

extension Rejection {
    /// Seconds to wait after a 429, and at least after a 5xx, if the answer does not say it.
    private static let (quotaPause, outagePause) = (60, 10)

    /// Reads FCM's answer. Its `errorCode` counts more than its `status`, and its `status` more than the status of
    /// HTTP. A body that is not Google's may come from an intermediary and concern this one request. So it prunes
    /// nothing and stops no push.
    init(fcm status: Int, _ body: FCMErrorBody, retryAfter: Int?) {
        let word = body.errorCode ?? body.status
        var reason = word.flatMap(FCMReason.init(rawValue:))
        if reason == .invalidArgument, body.blamesAddress { reason = .invalidRegistration }
        let verdict: Verdict =
            switch reason {
            case .invalidArgument?: body.blamesMessage ? .stopPush : .failToken
            case let known?: known.verdict ?? .failToken
            case nil: Self.verdict(of: status, isGoogles: body.isError)
            }
        let pause: Int? =
            switch verdict {
            case .pauseApp: retryAfter ?? Self.quotaPause
            case .retry: retryAfter ?? Self.outagePause
            default: retryAfter
            }
        self.init(
            status: status, reason: reason?.rawValue ?? word ?? "HTTP\(status)", verdict: verdict, retryAfter: pause)
    }

    /// The verdict on an answer with no known reason.
    private static func verdict(of status: Int, isGoogles: Bool) -> Verdict {
        switch status {
        case 401: .renewCredential
        case 403 where isGoogles: .haltApp
        case 429: .pauseApp
        case 400..<500 where isGoogles && status != 408: .failToken
        default: .retry
        }
    }
}
