internal import NIOCore
internal import NIOHPACK

/// One request as it came, before anything was read into it.
public struct RawRequest: Sendable, Hashable {
    /// Where it came to.
    public enum Kind: String, Sendable, CaseIterable { case device, broadcast, management }

    public struct Field: Sendable, Hashable {
        public var name: String
        public var value: String
    }

    /// Pseudo-header fields too, in the order they were sent.
    public var fields: [Field]
    public var body: [UInt8]
}

/// The newest request of each kind: a request costs a reference to what was decoded anyway.
struct NewestRequests: Sendable {
    private var kept: [RawRequest.Kind: (HPACKHeaders, ByteBuffer)] = [:]

    mutating func keep(_ head: RequestHead, _ body: ByteBuffer, _ kind: RawRequest.Kind) {
        kept[kind] = (head.fields, body)
    }

    subscript(kind: RawRequest.Kind) -> RawRequest? {
        kept[kind].map { fields, body in
            RawRequest(
                fields: fields.map { RawRequest.Field(name: $0.name, value: $0.value) },
                body: Array(body.readableBytesView))
        }
    }

    /// `{"device":{"fields":["apns-priority: 10", …],"body":"…"}, …}`; a provider token is shown as its scheme alone.
    var json: [UInt8] {
        let shown = RawRequest.Kind.allCases.compactMap { kind in
            self[kind].map { request in
                let fields = request.fields.map { field in
                    "\(field.name): \(field.name == "authorization" ? "\(field.value.prefix { $0 != " " }) …" : field.value)"
                }
                return (kind.rawValue, Shown(fields: fields, body: String(decoding: request.body, as: UTF8.self)))
            }
        }
        return JSON.encode(Dictionary(uniqueKeysWithValues: shown))
    }

    private struct Shown: Encodable {
        var fields: [String]
        var body: String
    }
}
