import Curl
import Foundation
import Synchronization

/// A client that repeats each call until it has a definite response. A call that failed, got no response or was refused
/// temporarily goes to the other gateway. So every call here must be repeatable.
final class Gateways: Sendable {
    struct Answer: Sendable {
        var status: Int
        var body: [UInt8]
        /// How many requests the call needed.
        var attempts: Int

        var json: [String: Any] { (try? JSONSerialization.jsonObject(with: Data(body))) as? [String: Any] ?? [:] }
        var text: String { String(decoding: body.prefix(400), as: UTF8.self) }
    }

    static let app = "chaos"
    static let secret = "chaos-secret"
    static let masterSecret = "chaos-master"

    private let urls: [String]
    private let log: EventLog
    private let repetitions = Atomic(0)
    private let next = Atomic(0)

    private let app: String

    init(urls: [String], log: EventLog, app: String = Gateways.app) {
        self.urls = urls
        self.log = log
        self.app = app
    }

    /// The same gateways, for calls of another app.
    func of(_ app: String) -> Gateways { Gateways(urls: urls, log: log, app: app) }

    /// How many requests were repeated.
    var repeated: Int { repetitions.load(ordering: .relaxed) }

    /// Repeats the call until its response is definite, for at most two minutes.
    func call(
        _ method: String, _ path: String, _ body: String? = nil, headers: [(String, String)] = [],
        timeout: Duration = .milliseconds(2_500)
    ) async throws -> Answer {
        let first = next.wrappingAdd(1, ordering: .relaxed).oldValue
        let end = ContinuousClock.now + .seconds(120)
        var attempts = 0
        while true {
            let url = urls[(first + attempts) % urls.count] + path
            attempts += 1
            let problem: String
            do throws(HTTPFailure) {
                let response = try await HTTPClient().send(request(method, url, body, headers, timeout))
                let isDecided = response.status < 500 && response.status != 429 && response.status != 408
                if isDecided { return Answer(status: response.status, body: response.body, attempts: attempts) }
                problem = "\(response.status)"
            } catch {
                problem = "\(error)"
            }
            try Task.checkCancellation()
            guard ContinuousClock.now < end else {
                throw ChaosFailure("\(method) \(path) was never decided: \(problem)")
            }
            log.note("again: \(method) \(path): \(problem)")
            repetitions.wrappingAdd(1, ordering: .relaxed)
            try? await Task.sleep(for: .milliseconds(min(1_000, 50 << min(attempts, 4))))
        }
    }

    private func request(
        _ method: String, _ url: String, _ body: String?, _ headers: [(String, String)], _ timeout: Duration
    ) -> HTTPRequest {
        let basic = Data("\(app):\(Self.masterSecret)".utf8).base64EncodedString()
        return HTTPRequest(
            method, url,
            headers: [("Authorization", "Basic " + basic), ("Content-Type", "application/json")] + headers,
            body: body.map { .bytes(Array($0.utf8)) }, timeout: timeout)
    }
}
