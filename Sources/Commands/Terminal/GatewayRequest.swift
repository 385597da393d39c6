import Curl
import LiveActivity
import StrictJSON

struct GatewayRequest {
    var method: String
    /// The path with the query. Both are percent-encoded.
    var path: String
    var headers: [(String, String)] = []
    /// JSON, or a stream of NDJSON.
    var body: HTTPBody?
    /// The longest time for the whole exchange.
    var timeout: Duration = .seconds(30)
    /// The sentence for the user if stdout does not take the result. Nil: the request changes nothing.
    var change: String? = "the gateway has made the change: look before you repeat it"

    static func get(_ path: GatewayPath, _ query: KeyValuePairs<String, String?> = [:]) -> GatewayRequest {
        GatewayRequest(method: "GET", path: path.with(query), change: nil)
    }
    static func post(
        _ path: GatewayPath, _ body: JSON? = nil, query: KeyValuePairs<String, String?> = [:]
    ) -> GatewayRequest {
        GatewayRequest(method: "POST", path: path.with(query), body: body.map { .bytes($0.bytes) })
    }
    static func put(_ path: GatewayPath, _ body: JSON) -> GatewayRequest {
        GatewayRequest(method: "PUT", path: path.text, body: .bytes(body.bytes))
    }
    static func delete(_ path: GatewayPath) -> GatewayRequest { GatewayRequest(method: "DELETE", path: path.text) }

    /// The same request with another sentence for the user, for the case that its result is lost.
    func changing(_ change: String?) -> GatewayRequest {
        var request = self
        request.change = change
        return request
    }

    func within(_ timeout: Duration) -> GatewayRequest {
        var request = self
        request.timeout = timeout
        return request
    }
}

/// A path such as `/api/dead/\(id)`. Values in it are percent-encoded, slashes too, so a value stays one segment.
struct GatewayPath: ExpressibleByStringInterpolation {
    let text: String
    init(stringLiteral value: String) { text = value }
    init(stringInterpolation: StringInterpolation) { text = stringInterpolation.text }
    /// The path with a query, in which values may be absent.
    func with(_ query: KeyValuePairs<String, String?>) -> String {
        let fields = query.compactMap { name, value in value.map { "\(name)=\(Self.encoded($0))" } }
        return text + (fields.isEmpty ? "" : "?" + fields.joined(separator: "&"))
    }
    static func encoded(_ text: String) -> String { text.percentEncoded { !$0.isURLUnreserved && $0 != 0x7E } }

    struct StringInterpolation: StringInterpolationProtocol {
        var text = ""
        init(literalCapacity: Int, interpolationCount: Int) {}
        mutating func appendLiteral(_ literal: String) { text += literal }
        mutating func appendInterpolation(_ value: String) { text += GatewayPath.encoded(value) }
        mutating func appendInterpolation(_ value: Int) { text += String(value) }
    }
}
