import HTTPTypes
import LiveActivity

// Header names, most of them the SDK's. HTTP compares names without case.
extension HTTPField.Name {
    static let airshipAppKey = constant("X-UA-Appkey")
    static let airshipChannel = constant("X-UA-Channel-ID")
    static let airshipNonce = constant("X-UA-Nonce")
    static let airshipTimestamp = constant("X-UA-Timestamp")
    static let idempotencyKey = constant("Idempotency-Key")
    static let forwardedFor = constant("X-Forwarded-For")
    static let forwardedProto = constant("X-Forwarded-Proto")
    static let forwarded = constant("Forwarded")
    static let traceparent = constant("traceparent")
    static let via = constant("Via")
    static let realAddress = constant("X-Real-IP")
    static let fetchSite = constant("Sec-Fetch-Site")

    private static func constant(_ name: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(name) else { preconditionFailure("not a header name: \(name)") }
        return name
    }
}

extension HTTPFields {
    /// Whether the request has a token, or a signature in its place.
    var areBearer: Bool { self[.authorization]?.lowercased().hasPrefix("bearer ") ?? false }

    /// Whether `If-None-Match` holds this tag: the caller has the body already.
    func hold(_ tag: String?) -> Bool {
        guard let tag, let known = self[.ifNoneMatch] else { return false }
        return known.parts(between: UInt8(ascii: ",")).contains { [tag, "W/" + tag].contains($0.trimmed) }
    }
}
