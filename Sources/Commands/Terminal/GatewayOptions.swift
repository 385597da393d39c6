import ArgumentParser
import LiveActivity
import Settings
import StrictJSON

/// The options of every command that calls the gateway. A command is a request and a few lines about its answer:
///
///     func run() async throws {
///         try await gateway.call(.post("/api/dead/\(id)/retry")) { (answer: Retried) in ["\(answer.retried) tokens"] }
///     }
struct GatewayOptions: ParsableArguments {
    @OptionGroup var global: GlobalOptions

    @Option(\.gateway.url, "url") var url: SettingFlag?
    @Option(help: .value("key", "Key of the app to speak for. It is needed if several apps are configured."))
    var app: String?

    var json: Bool { global.json }

    func settings() throws -> Settings { try global.settings([url]) }

    func client() throws -> GatewayClient {
        let settings = try settings()
        return try GatewayClient(settings, settings.app(named: app))
    }

    /// Sends a request and prints its answer: as received with `--json`, else as `lines` of text.
    func call<Answer: Decodable>(_ request: GatewayRequest, lines: (Answer) -> [String]) async throws {
        let answer = try await client().send(request)
        if json { return Terminal.print(json: answer) }
        lines(try GatewayClient.decode(answer)).forEach(Terminal.print)
    }

    /// Sends a request whose answer says no more than that it is done.
    func call(_ request: GatewayRequest, done: String? = nil) async throws {
        let answer = try await client().send(request)
        if json { return Terminal.print(json: answer) }
        if let done { Terminal.print(done) }
    }
}

/// One request to the gateway.
struct GatewayRequest {
    var method: String
    /// With the query. Both are percent-encoded.
    var path: String
    var headers: [(String, String)] = []
    var body: JSON?
    /// The longest time for the whole exchange.
    var timeout: Duration = .seconds(30)

    static func get(_ path: GatewayPath, _ query: KeyValuePairs<String, String?> = [:]) -> GatewayRequest {
        let fields = query.compactMap { name, value in value.map { "\(name)=\(GatewayPath.encoded($0))" } }
        return GatewayRequest(
            method: "GET", path: path.text + (fields.isEmpty ? "" : "?" + fields.joined(separator: "&")))
    }
    static func post(_ path: GatewayPath, _ body: JSON? = nil) -> GatewayRequest {
        GatewayRequest(method: "POST", path: path.text, body: body)
    }
    static func put(_ path: GatewayPath, _ body: JSON) -> GatewayRequest {
        GatewayRequest(method: "PUT", path: path.text, body: body)
    }
    static func delete(_ path: GatewayPath) -> GatewayRequest { GatewayRequest(method: "DELETE", path: path.text) }

    /// The same request with another limit of time.
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

    static func encoded(_ text: String) -> String { text.percentEncoded { !$0.isURLUnreserved && $0 != 0x7E } }

    struct StringInterpolation: StringInterpolationProtocol {
        var text = ""
        init(literalCapacity: Int, interpolationCount: Int) {}
        mutating func appendLiteral(_ literal: String) { text += literal }
        mutating func appendInterpolation(_ value: String) { text += GatewayPath.encoded(value) }
        mutating func appendInterpolation(_ value: Int) { text += String(value) }
    }
}

extension JSON {
    /// An object of the fields that are not nil. A null is written, and has to be asked for: `.null`.
    static func fields(_ fields: KeyValuePairs<String, JSON?>) -> JSON {
        .object(fields.compactMap { name, value in value.map { Member(name, $0) } })
    }
}
