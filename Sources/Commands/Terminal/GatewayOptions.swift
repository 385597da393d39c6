import Answers
import ArgumentParser
import Settings
import StrictJSON

/// The options of every command that calls the gateway.
struct GatewayOptions: ParsableArguments {
    @OptionGroup var global: GlobalOptions
    @Option(\.gatewayURL, "url") var url: SettingFlag?
    @Option(help: .value("key", "Key of the app to speak for. It is needed if several apps are configured."))
    var app: String?

    var json: Bool { global.json }
    func settings() throws -> Settings { try global.settings([url]) }

    func client() throws -> GatewayClient {
        let settings = try settings()
        return try GatewayClient(settings, settings.app(named: app))
    }

    /// Sends a request and prints its answer: as received with `--json`, else as `lines` of text.
    func call<Body: AnswerBody>(_ request: GatewayRequest, lines: (Body) -> [String]) async throws {
        try print(try await client().send(request), lines: lines)
    }

    /// Sends a request whose answer says no more than that it is done.
    func call(_ request: GatewayRequest, done: String? = nil) async throws {
        let answer = try await client().send(request)
        if json { return Terminal.print(json: answer) }
        if let done { Terminal.print(done) }
    }

    /// Lists what a filter picks, and prints it as one answer. The gateway reads a bounded part of a large list for one
    /// call, so a page may be short or empty. The next ones are asked for until there are `limit` entries.
    /// - Parameters:
    ///   - member: the array of the answer
    ///   - request: for that many entries, from a position on
    func list<Body: AnswerBody>(
        _ member: String, limit: Int, after: String?, _ request: (_ limit: Int, _ after: String?) -> GatewayRequest,
        lines: (Body) -> [String]
    ) async throws {
        let client = try client()
        var (entries, total, next) = ([JSON](), JSON?.none, after)
        repeat {
            let answer = try await client.send(request(limit - entries.count, next))
            let page = try JSONDocument(answer).root.object()
            entries += try page.required(member).array().map { JSON($0) }
            total = total ?? page["total"].map { JSON($0) }
            next = try page["next"]?.string()
        } while next != nil && entries.count < limit
        let answer = JSON.fields([
            "ok": true, "total": total, member: .array(entries), "next": next.map(JSON.string),
        ])
        try print(answer.bytes, lines: lines)
    }

    private func print<Body: AnswerBody>(_ answer: [UInt8], lines: (Body) -> [String]) throws {
        if json { return Terminal.print(json: answer) }
        let body: Body = try GatewayClient.decode(answer)
        if let warned = body as? any WarnedAnswer { Terminal.warn(warned.warned) }
        lines(body).forEach(Terminal.print)
    }
}

extension Terminal {
    static func warn(_ warned: AnswerWarnings) {
        for warning in warned.warnings ?? [] { error("warning: \(warning)") }
    }
}

/// A command that is one call of the gateway: its request, and the lines that a person reads of the answer.
protocol GatewayCommand: AsyncParsableCommand {
    associatedtype Body: AnswerBody
    var gateway: GatewayOptions { get }
    var request: GatewayRequest { get }
    func lines(_ answer: Body) -> [String]
}

extension GatewayCommand {
    func run() async throws { try await gateway.call(request, lines: lines) }
}
