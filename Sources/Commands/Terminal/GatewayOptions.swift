import Answers
import ArgumentParser
import Settings

/// The options of every command that calls the gateway. A command is a request and a few lines about its answer.
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
