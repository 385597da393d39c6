import Answers
import Curl
import Delivery
import FoundationEssentials
import LiveActivity
import Settings
import StrictJSON

/// A client of the gateway's HTTP API, as a publisher uses it.
struct GatewayClient: Sendable {
    let url: String
    let key: String
    private let authorization: String
    /// PEM roots for the gateway's certificate. Nil: the system's.
    private let caFile: String?

    init(_ settings: Settings, _ app: AppSettings) throws {
        url = settings.gatewayURL
        key = app.key.rawValue
        caFile = settings.gatewayTLS.roots
        if let caFile { try NamedFile(setting: "gateway.ca_file", path: caFile).check(.certificate) }
        authorization = "Basic " + Data("\(key):\(try app.required(.masterSecret))".utf8).base64EncodedString()
    }

    /// - Returns: the body of a 2xx response; `{"ok":true}` if it has none.
    /// - Throws: `CommandFailure` with a message for every other response.
    func send(_ request: GatewayRequest) async throws -> [UInt8] {
        let contentType: [(String, String)] =
            switch request.body {
            case .bytes: [("Content-Type", "application/json")]
            case .stream: [("Content-Type", "application/x-ndjson")]
            case nil: []
            }
        let response: HTTPResponse
        do {
            response = try await HTTPClient().send(
                HTTPRequest(
                    request.method, url + request.path,
                    headers: [("Authorization", authorization)] + contentType + request.headers, body: request.body,
                    caFile: caFile, timeout: request.timeout))
        } catch  where url.hasPrefix("https:") && error.reason.contains("wrong version number") {
            throw CommandFailure(
                .unreachable, "what listens at \(url) does not speak TLS: should it be http\(url.dropFirst(5))?")
        } catch {
            throw CommandFailure(
                .unreachable,
                """
                the gateway at \(url) did not answer: \(error.description)
                Is 'lamplighter serve' running there? --url or \(SettingKey[\.gatewayURL].environmentName) names another.
                """)
        }
        // A portal answers every call with a page and a 200.
        let isPage = response.body.first { $0 > 0x20 } == UInt8(ascii: "<")
        guard (200..<300).contains(response.status), !isPage else {
            throw Self.refusal(response.status, response.body, retryAfter: response.header("retry-after"), key: key)
        }
        if let change = request.change { Terminal.note(change: change) }
        return response.body.isEmpty ? Array(#"{"ok":true}"#.utf8) : response.body
    }

    /// Whether the gateway knows the thing that a path names.
    func knows(_ path: GatewayPath) async throws -> Bool {
        do {
            _ = try await send(.get(path))
            return true
        } catch let failure as CommandFailure where failure.refusal?.status == 404 {
            return false
        }
    }

    /// The words for an answer that is no 2xx. A proxy may have given it.
    static func refusal(_ status: Int, _ body: [UInt8], retryAfter: String?, key: String) -> CommandFailure {
        let answer: ErrorAnswer? = try? decode(body)
        let cut: CutShortAnswer? = try? decode(body)
        let pause = retryAfter.flatMap { RetryAfter.seconds($0.utf8, now: Int(Date().timeIntervalSince1970)) }
        let again = pause.map { " (try again in \($0) s)" } ?? ""
        var reason = answer?.details?.error ?? answer?.error ?? "HTTP \(status)"
        let place = answer?.details?.location.map { "line \($0.line), column \($0.column)" }
        if let place = answer?.details?.path ?? place { reason += " (at \(place))" }
        // An import was cut short.
        if let lines = cut?.linesApplied { reason += " \(Terminal.counted(lines, "line")) of the call are done." }
        switch status {
        case 413 where answer?.error == nil:
            return CommandFailure(
                .failed,
                """
                something between here and the gateway refused the size of the call (413): a proxy
                nginx needs client_max_body_size 0 for bulk calls; --url names a gateway itself
                """)
        case 502, 503, 504: return CommandFailure(.unreachable, "the gateway cannot serve now: \(reason)\(again)")
        case _ where answer?.error == nil:
            return CommandFailure(
                .failed,
                """
                the answer (\(status)) is not the gateway's: a proxy or another server gave it
                --url names a gateway itself
                """)
        // A right secret that ended is told so.
        case 401 where answer?.error.hasPrefix("The secret of the credential") != true:
            return CommandFailure(.failed, "the gateway does not accept this secret for app '\(key)'")
        default:
            var failure = CommandFailure(.failed, "the gateway refused (\(status)): \(reason)\(again)")
            failure.refusal = (status, reason)
            return failure
        }
    }

    /// Reads a response. Throws a failure if its form is not the expected one.
    static func decode<Body: AnswerBody>(_ body: [UInt8]) throws -> Body {
        if let value = try? Body(answer: body) { return value }
        throw CommandFailure(.failed, "the gateway's answer is not in the expected form")
    }
}
