/// The forms of FCM's rejections, by a name that faults and the record use. The error code of an answer is not enough,
/// because one code has several forms. The tests of Google's own clients know these forms.
enum FCMReason: String, Sendable, Hashable, CaseIterable {
    case unregistered = "UNREGISTERED"
    /// An old form: the status is INVALID_ARGUMENT.
    case unregisteredAsInvalid = "UNREGISTERED_AS_INVALID_ARGUMENT"
    /// A dead installation id, without an error code of FCM.
    case notFound = "NOT_FOUND"
    case invalidToken = "INVALID_TOKEN"
    case senderMismatch = "SENDER_ID_MISMATCH"
    /// The message breaks a rule. The answer names the field.
    case invalidPayload = "INVALID_PAYLOAD"
    /// Neither a field nor the address is named.
    case invalidArgument = "INVALID_ARGUMENT"
    /// The API is disabled, or the service account lacks a role.
    case permissionDenied = "PERMISSION_DENIED"
    case unauthenticated = "UNAUTHENTICATED"
    case thirdParty = "THIRD_PARTY_AUTH_ERROR"
    case quotaExceeded = "QUOTA_EXCEEDED"
    case internalError = "INTERNAL"
    case unavailable = "UNAVAILABLE"
    /// 503 with a page of HTML, as a proxy answers.
    case notJSON = "NOT_JSON"
    /// 500 with `{}`.
    case emptyBody = "EMPTY_BODY"
    /// 404 with a page of HTML: there is no such method of the API.
    case badPath = "BAD_PATH"

    var status: Int {
        switch self {
        case .unregistered, .notFound, .badPath: 404
        case .unregisteredAsInvalid, .invalidToken, .invalidPayload, .invalidArgument: 400
        case .senderMismatch, .permissionDenied: 403
        case .unauthenticated, .thirdParty: 401
        case .quotaExceeded: 429
        case .internalError, .emptyBody: 500
        case .unavailable, .notJSON: 503
        }
    }

    /// `status` in the body. Nil for a body without an error.
    private var statusName: String? {
        switch self {
        case .unregistered, .notFound: "NOT_FOUND"
        case .unregisteredAsInvalid, .invalidToken, .invalidPayload, .invalidArgument: "INVALID_ARGUMENT"
        case .senderMismatch, .permissionDenied: "PERMISSION_DENIED"
        case .unauthenticated, .thirdParty: "UNAUTHENTICATED"
        case .quotaExceeded: "RESOURCE_EXHAUSTED"
        case .internalError: "INTERNAL"
        case .unavailable: "UNAVAILABLE"
        case .notJSON, .emptyBody, .badPath: nil
        }
    }

    /// `errorCode` in the detail `FcmError`. Nil: there is no such detail.
    private var errorCode: String? {
        switch self {
        case .unregistered, .unregisteredAsInvalid: "UNREGISTERED"
        case .invalidToken, .invalidArgument: "INVALID_ARGUMENT"
        case .senderMismatch, .thirdParty, .quotaExceeded, .internalError, .unavailable: rawValue
        case .notFound, .invalidPayload, .permissionDenied, .unauthenticated, .notJSON, .emptyBody, .badPath: nil
        }
    }

    private var text: String {
        switch self {
        case .unregistered, .unregisteredAsInvalid, .notFound: "Requested entity was not found."
        case .invalidToken: "The registration token is not a valid FCM registration token"
        case .senderMismatch: "SenderId mismatch"
        case .invalidPayload, .invalidArgument: "Request contains an invalid argument."
        case .permissionDenied: "Permission 'cloudmessaging.messages.create' denied on resource (or it may not exist)."
        case .unauthenticated: "Request had invalid authentication credentials."
        case .thirdParty: "Auth error from APNS or Web Push Service"
        case .quotaExceeded: "Quota exceeded for quota metric 'Messages sent' of service 'fcm.googleapis.com'."
        case .internalError: "Internal error encountered."
        case .unavailable: "The service is currently unavailable."
        case .notJSON, .emptyBody, .badPath: ""
        }
    }

    /// The body of the answer.
    /// - Parameters:
    ///   - text: instead of the usual message
    ///   - violations: fields that break a rule
    func body(_ text: String? = nil, violations: [FieldViolation] = []) -> [UInt8] {
        guard let statusName else {
            return Array((self == .emptyBody ? "{}" : "<!DOCTYPE html>\n<title>Error \(status)</title>\n").utf8)
        }
        let type = #""@type":"type.googleapis.com/"#
        var details: [String] = []
        if let errorCode {
            details.append(#"{\#(type)google.firebase.fcm.v1.FcmError","errorCode":"\#(errorCode)"}"#)
        }
        if self == .permissionDenied {
            details.append(
                #"{\#(type)google.rpc.ErrorInfo","reason":"IAM_PERMISSION_DENIED","domain":"iam.googleapis.com"}"#)
        }
        let violations =
            violations.isEmpty && self == .invalidPayload
            ? [FieldViolation(field: "message.data", description: "Invalid value")] : violations
        if !violations.isEmpty {
            let list = violations.map(\.json).joined(separator: ",")
            details.append(#"{\#(type)google.rpc.BadRequest","fieldViolations":[\#(list)]}"#)
        }
        var error = #""code":\#(status),"message":\#(JSON.quoted(text ?? self.text)),"status":"\#(statusName)""#
        if !details.isEmpty { error += #","details":[\#(details.joined(separator: ","))]"# }
        return Array(#"{"error":{\#(error)}}"#.utf8)
    }

    var isJSON: Bool { self != .notJSON && self != .badPath }
}

extension FCMReason: ReasonTable {
    static let dead: [FCMReason] = [.unregistered, .unregisteredAsInvalid, .notFound, .invalidToken, .senderMismatch]
    static let examples = "QUOTA_EXCEEDED, INTERNAL, UNAVAILABLE"
    static let prefixText = "is empty"

    static func isPrefix(_ text: String) -> Bool { !text.isEmpty }

    static func unknownFields(_ faults: Faults) -> [String] {
        [
            ("dead_since_ms", faults.deadSince != nil), ("refused_keys", !faults.refusedKeys.isEmpty),
            ("broadcast_rejections", !faults.broadcastRejections.isEmpty),
            ("manage_rejections", !faults.manageRejections.isEmpty), ("manage_lose_next", faults.manageLoseNext != 0),
            ("settings_drop_on_rejection", faults.settingsDropOnRejection),
        ].filter(\.1).map(\.0)
    }
}

/// A field of a message that breaks a rule.
struct FieldViolation: Sendable, Hashable {
    /// The field's path, like `message.data[0].value`. Empty if it is the whole body.
    var field: String
    var description: String

    fileprivate var json: String {
        let place = field.isEmpty ? "" : #""field":\#(JSON.quoted(field)),"#
        return #"{\#(place)"description":\#(JSON.quoted(description))}"#
    }
}
