import Curl
import StrictJSON

struct GatewayRequest {
    var method: String
    /// With the query. Both are percent-encoded.
    var path: String
    var headers: [(String, String)] = []
    /// JSON, or a stream of NDJSON.
    var body: HTTPBody?
    /// The longest time for the whole exchange.
    var timeout: Duration = .seconds(30)

    static func get(_ path: GatewayPath, _ query: KeyValuePairs<String, String?> = [:]) -> GatewayRequest {
        let fields = query.compactMap { name, value in value.map { "\(name)=\(GatewayPath.encoded($0))" } }
        return GatewayRequest(
            method: "GET", path: path.text + (fields.isEmpty ? "" : "?" + fields.joined(separator: "&")))
    }
    static func post(_ path: GatewayPath, _ body: JSON? = nil) -> GatewayRequest {
        GatewayRequest(method: "POST", path: path.text, body: body.map { .bytes($0.bytes) })
    }
    static func put(_ path: GatewayPath, _ body: JSON) -> GatewayRequest {
        GatewayRequest(method: "PUT", path: path.text, body: .bytes(body.bytes))
    }
    static func delete(_ path: GatewayPath) -> GatewayRequest { GatewayRequest(method: "DELETE", path: path.text) }

    func within(_ timeout: Duration) -> GatewayRequest {
        var request = self
        request.timeout = timeout
        return request
    }
}
