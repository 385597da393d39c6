internal import NIOCore
internal import NIOHPACK

/// The newest request of each kind. It costs little, because it keeps references to what was decoded anyway.
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

    /// `{"device":{"fields":["apns-priority: 10", …],"body":"…"}, …}`. A provider token is shown only as its scheme.
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
