internal import NIOCore

/// The newest request of each kind. It costs little, because it keeps references to what was decoded anyway.
struct NewestRequests: Sendable {
    private var kept: [RawRequest.Kind: (fields: [(name: String, value: String)], body: ByteBuffer)] = [:]

    mutating func keep(_ head: RequestHead, _ body: ByteBuffer, _ kind: RawRequest.Kind) {
        kept[kind] = (head.fields, body)
    }

    subscript(kind: RawRequest.Kind) -> RawRequest? {
        kept[kind].map { RawRequest(fields: $0.fields, body: Array($0.body.readableBytesView)) }
    }

    /// `{"device":{"fields":["apns-priority: 10", …],"body":"…"}, …}`. A provider token is shown only as its scheme.
    var json: [UInt8] {
        let shown = RawRequest.Kind.allCases.compactMap { kind in
            self[kind].map { request in
                let fields = request.fields.map { name, value in
                    "\(name): \(name == "authorization" ? "\(value.prefix { $0 != " " }) …" : value)"
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

/// One request as received, before anything was interpreted.
public struct RawRequest: Sendable {
    /// The API to which the request was sent. A message is one of FCM.
    public enum Kind: String, Sendable, CaseIterable { case device, broadcast, management, message }

    /// The header fields in the order in which they were sent, including pseudo-header fields.
    public var fields: [(name: String, value: String)]
    public var body: [UInt8]
}
