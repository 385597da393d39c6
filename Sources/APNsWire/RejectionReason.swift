public import Delivery

/// Apple's reasons, each with its status and verdict: the only such table in the program. Sources: "Handling
/// notification responses from APNs"; "Handling error responses from Apple Push Notification service".
public enum RejectionReason: Sendable, Hashable {
    case known(Known)
    /// A reason that is not in this table, as APNs wrote it.
    case other(String)

    public enum Known: String, Sendable, Hashable, CaseIterable {
        case badCollapseId = "BadCollapseId"
        case badDeviceToken = "BadDeviceToken"
        case badExpirationDate = "BadExpirationDate"
        case badMessageId = "BadMessageId"
        case badPriority = "BadPriority"
        case badTopic = "BadTopic"
        case deviceTokenNotForTopic = "DeviceTokenNotForTopic"
        case duplicateHeaders = "DuplicateHeaders"
        case idleTimeout = "IdleTimeout"
        case invalidPushType = "InvalidPushType"
        case missingDeviceToken = "MissingDeviceToken"
        case missingTopic = "MissingTopic"
        case payloadEmpty = "PayloadEmpty"
        case topicDisallowed = "TopicDisallowed"
        case badChannelId = "BadChannelId"
        case badRequestParams = "BadRequestParams"
        case badRequestPayload = "BadRequestPayload"
        case cannotCreateChannelConfig = "CannotCreateChannelConfig"
        case channelNotRegistered = "ChannelNotRegistered"
        case featureNotEnabled = "FeatureNotEnabled"
        case missingChannelId = "MissingChannelId"
        case missingPushType = "MissingPushType"
        case topicMismatch = "TopicMismatch"
        case badCertificate = "BadCertificate"
        case badCertificateEnvironment = "BadCertificateEnvironment"
        case badEnvironmentKeyInToken = "BadEnvironmentKeyInToken"
        case badEnvironmentKeyIdInToken = "BadEnvironmentKeyIdInToken"
        case expiredProviderToken = "ExpiredProviderToken"
        case forbidden = "Forbidden"
        case invalidProviderToken = "InvalidProviderToken"
        case missingProviderToken = "MissingProviderToken"
        case unrelatedKeyIdInToken = "UnrelatedKeyIdInToken"
        case badPath = "BadPath"
        case methodNotAllowed = "MethodNotAllowed"
        case expiredToken = "ExpiredToken"
        case unregistered = "Unregistered"
        case payloadTooLarge = "PayloadTooLarge"
        case tooManyProviderTokenUpdates = "TooManyProviderTokenUpdates"
        case tooManyRequests = "TooManyRequests"
        case internalServerError = "InternalServerError"
        case serviceUnavailable = "ServiceUnavailable"
        case shutdown = "Shutdown"
    }

    /// - Parameter wire: the `reason` of the answer's body; if it is empty or unreadable, the status gives the name
    public init(wire: String, status: Int) {
        self = Known(rawValue: wire).map(Self.known) ?? .other(wire.isEmpty ? "HTTP\(status)" : wire)
    }

    /// The text in the ledger's `errors`.
    public var wire: String {
        switch self {
        case .known(let known): known.rawValue
        case .other(let text): text
        }
    }

    /// A reason counts only with its own status. Any other answer may come from an intermediary and concern this one
    /// request. So it prunes nothing and stops no push, and the token is tried again. A 403 concerns the credentials.
    public func verdict(status: Int) -> Verdict {
        if case .known(let known) = self, known.status == status { return known.verdict }
        return status == 403 ? .haltApp : .retry
    }
}

extension RejectionReason.Known {
    public var status: Int {
        switch self {
        case .badCollapseId, .badDeviceToken, .badExpirationDate, .badMessageId, .badPriority, .badTopic,
            .deviceTokenNotForTopic, .duplicateHeaders, .idleTimeout, .invalidPushType, .missingDeviceToken,
            .missingTopic, .payloadEmpty, .topicDisallowed, .badChannelId, .badRequestParams, .badRequestPayload,
            .cannotCreateChannelConfig, .channelNotRegistered, .featureNotEnabled, .missingChannelId, .missingPushType:
            400
        case .badCertificate, .badCertificateEnvironment, .badEnvironmentKeyInToken, .badEnvironmentKeyIdInToken,
            .expiredProviderToken, .forbidden, .invalidProviderToken, .missingProviderToken, .topicMismatch,
            .unrelatedKeyIdInToken:
            403
        case .badPath: 404
        case .methodNotAllowed: 405
        case .expiredToken, .unregistered: 410
        case .payloadTooLarge: 413
        case .tooManyProviderTokenUpdates, .tooManyRequests: 429
        case .internalServerError: 500
        case .serviceUnavailable, .shutdown: 503
        }
    }

    public var verdict: Verdict {
        switch self {
        case .badDeviceToken, .deviceTokenNotForTopic: .pruneToken
        case .unregistered, .expiredToken: .pruneIfOlder
        case .badCollapseId, .badExpirationDate, .badMessageId, .badPriority, .badTopic, .duplicateHeaders,
            .invalidPushType, .missingDeviceToken, .missingTopic, .payloadEmpty, .topicDisallowed, .badPath,
            .methodNotAllowed, .payloadTooLarge, .badChannelId, .badRequestParams, .badRequestPayload,
            .cannotCreateChannelConfig, .featureNotEnabled, .missingChannelId, .missingPushType:
            .stopPush
        case .channelNotRegistered: .recreateTarget
        case .expiredProviderToken: .renewCredential
        case .badCertificate, .badCertificateEnvironment, .badEnvironmentKeyInToken, .badEnvironmentKeyIdInToken,
            .forbidden, .invalidProviderToken, .missingProviderToken, .topicMismatch:
            .haltApp
        case .unrelatedKeyIdInToken, .idleTimeout, .shutdown: .retryOnFreshConnection
        case .tooManyProviderTokenUpdates: .useEarlierCredential
        case .tooManyRequests, .internalServerError, .serviceUnavailable: .retry
        }
    }
}

extension Rejection {
    /// An answer of APNs.
    public init(status: Int, reason: RejectionReason, timestamp: Int64? = nil, retryAfter: Int? = nil) {
        self.init(
            status: status, reason: reason.wire, verdict: reason.verdict(status: status),
            mayLiveElsewhere: status == 400 && reason == .known(.badDeviceToken), timestamp: timestamp,
            retryAfter: retryAfter)
    }
}
