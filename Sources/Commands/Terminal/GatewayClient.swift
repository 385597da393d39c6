import ArgumentParser
import Curl
import Foundation
import LiveActivity
import Settings

/// The gateway that a command calls, and the credentials for it.
struct GatewayOptions: ParsableArguments {
    @Option(
        name: [.customLong("url"), .customLong(SettingKey.gatewayURL.flagName)], help: ArgumentHelp(.gatewayURL))
    var url: String?

    @Option(
        name: .long,
        help: ArgumentHelp("Key of the app to speak for; needed when several are configured.", valueName: "key"))
    var app: String?

    var values: [SettingKey: String?] { [.gatewayURL: url] }

    func client(_ global: GlobalOptions) throws -> GatewayClient {
        let settings = try global.settings(values)
        return try client(settings, settings.app(named: app))
    }

    func client(_ settings: Settings, _ app: AppSettings) throws -> GatewayClient {
        GatewayClient(url: settings.gateway.url, key: app.key.rawValue, secret: try app.required(.masterSecret))
    }
}

/// A client of the gateway's HTTP API, as a publisher uses it.
struct GatewayClient: Sendable {
    let url: String
    let key: String
    private let authorization: String

    init(url: String, key: String, secret: String) {
        self.url = url
        self.key = key
        authorization = "Basic " + Data("\(key):\(secret)".utf8).base64EncodedString()
    }

    /// Sends one request.
    ///
    /// - Parameters:
    ///   - method: the HTTP method.
    ///   - path: begins with a slash and is already percent-encoded.
    ///   - headers: further header fields.
    ///   - body: the body, if there is one.
    ///   - timeout: the longest time for the whole exchange.
    /// - Returns: the body of a 2xx response.
    /// - Throws: `CommandFailure` with a message for every other response.
    func send(
        _ method: String, _ path: String, headers: [(String, String)] = [], body: HTTPBody? = nil,
        timeout: Duration = .seconds(30)
    ) async throws -> [UInt8] {
        let contentType = body == nil ? [] : [("Content-Type", "application/json")]
        let given = headers.contains { $0.0.lowercased() == "content-type" }
        let request = HTTPRequest(
            method, url + path, headers: [("Authorization", authorization)] + (given ? [] : contentType) + headers,
            body: body, timeout: timeout)
        let response: HTTPResponse
        do {
            response = try await HTTPClient().send(request)
        } catch {
            throw CommandFailure(
                .unreachable,
                """
                the gateway at \(url) did not answer: \(error.description)
                Is 'lamplighter serve' running there? --url or \(SettingKey.gatewayURL.environmentName) names another.
                """)
        }
        if (200..<300).contains(response.status) { return response.body }
        throw refusal(response)
    }

    private func refusal(_ response: HTTPResponse) -> CommandFailure {
        let answer = try? JSONDecoder().decode(RefusalBody.self, from: Data(response.body))
        let retryAfter = response.headers.first { $0.0 == "retry-after" }.map { "; try again in \($0.1) s" } ?? ""
        var reason = answer?.details?.error ?? answer?.error ?? "HTTP \(response.status)"
        if let path = answer?.details?.path { reason += " (at \(path))" }
        switch response.status {
        case 401: return CommandFailure(.failed, "the gateway does not accept this master secret for app '\(key)'")
        case 502, 503, 504: return CommandFailure(.unreachable, "the gateway cannot serve now: \(reason)\(retryAfter)")
        default: return CommandFailure(.failed, "the gateway refused (\(response.status)): \(reason)\(retryAfter)")
        }
    }

    private struct RefusalBody: Decodable {
        struct Details: Decodable {
            var error: String?
            var path: String?
        }
        var error: String?
        var details: Details?
    }

    /// Encodes one path segment. Everything but unreserved characters is percent-encoded, slashes too.
    static func segment(_ text: String) -> String {
        text.utf8.reduce(into: "") { out, byte in
            let isUnreserved =
                (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7A || byte >= 0x30 && byte <= 0x39
                || [0x2D, 0x2E, 0x5F, 0x7E].contains(byte)
            out +=
                isUnreserved
                ? String(UnicodeScalar(byte)) : (byte < 16 ? "%0" : "%") + String(byte, radix: 16).uppercased()
        }
    }

    /// Decodes a response. Throws a failure if its form is not the expected one.
    static func decode<Value: Decodable>(_ type: Value.Type, _ body: [UInt8]) throws -> Value {
        do {
            return try JSONDecoder().decode(type, from: Data(body))
        } catch {
            throw CommandFailure(.failed, "the gateway's answer is not in the expected form")
        }
    }
}

extension Terminal {
    /// Prints a gateway's JSON response as received, with one newline at its end.
    static func print(json body: [UInt8]) {
        var text = String(decoding: body, as: UTF8.self)
        while text.hasSuffix("\n") { text.removeLast() }
        print(text)
    }
}
