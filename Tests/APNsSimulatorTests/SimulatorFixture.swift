import Curl
import Foundation
import Logging
import OpenSSL
import TestSupport
import Testing

@testable import APNsSimulator

/// A running simulator with one key, with which the test signs.
struct SimulatorFixture {
    static let keyID = "ABC123DEFG"
    static let teamID = "TEAM123456"
    static let bundleID = "com.example.delivery"
    static let topic = "com.example.delivery.push-type.liveactivity"

    let simulator: APNsSimulator
    let key: P256SigningKey
    let directory: String
    /// Signed once, because a sender must not sign anew for each request.
    let providerToken: String

    /// Starts a simulator in its own directory and stops it after `body`.
    static func run(
        _ change: (inout SimulatorConfiguration) -> Void = { _ in },
        _ body: (SimulatorFixture) async throws -> Void
    ) async throws {
        let directory = try temporaryDirectory()
        let pem = try P256SigningKey.generatePEM()
        let key = try P256SigningKey(pem: pem)
        var configuration = SimulatorConfiguration(certificateDirectory: directory)
        configuration.keys = [
            ProviderKey(
                keyID: keyID, teamID: teamID,
                material: .pem(String(decoding: pem, as: UTF8.self)), bundleIDs: [bundleID])
        ]
        change(&configuration)
        var logger = Logger(label: "simulator")
        logger.logLevel = .critical
        let simulator = try await APNsSimulator.start(configuration, logger: logger)
        let fixture = SimulatorFixture(
            simulator: simulator, key: key, directory: directory, providerToken: try jwt(key: key))
        let result: Result<Void, any Error>
        do { result = .success(try await body(fixture)) } catch { result = .failure(error) }
        await simulator.stop()
        try? FileManager.default.removeItem(atPath: directory)
        try result.get()
    }

    static func newKey() throws -> P256SigningKey { try P256SigningKey(pem: P256SigningKey.generatePEM()) }

    /// A token of 80 bytes that begins with `number`.
    static func token(_ number: Int) -> String {
        String(format: "%016x", number) + String(repeating: "5a", count: 72)
    }

    static func bytes(_ hex: String) -> [UInt8] { Hexadecimal.decode(hex.utf8) ?? [] }

    static func update(_ timestamp: Int, event: String = "update", state: String = #"{"stops":3}"#) -> String {
        #"{"aps":{"timestamp":\#(timestamp),"event":"\#(event)","content-state":\#(state)}}"#
    }

    /// Signs a new provider token.
    func jwt(
        algorithm: String = "ES256", kid: String? = keyID, iss: String? = teamID, iat: String? = nil,
        key other: P256SigningKey? = nil
    ) throws -> String {
        try Self.jwt(algorithm: algorithm, kid: kid, iss: iss, iat: iat, key: other ?? key)
    }

    private static func jwt(
        algorithm: String = "ES256", kid: String? = keyID, iss: String? = teamID, iat: String? = nil,
        key: P256SigningKey
    ) throws -> String {
        let issuedAt = iat ?? "\(Int(Date().timeIntervalSince1970))"
        let kidField = kid.map { #","kid":"\#($0)""# } ?? ""
        let issField = iss.map { #""iss":"\#($0)","# } ?? ""
        let signed =
            base64URL(Array(#"{"alg":"\#(algorithm)"\#(kidField)}"#.utf8)) + "."
            + base64URL(Array("{\(issField)\"iat\":\(issuedAt)}".utf8))
        return signed + "." + base64URL(try key.es256(Array(signed.utf8)))
    }

    static func base64URL(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString().replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
    }

    /// The headers of a request that APNs accepts.
    func headers(jwt: String? = nil) -> [(String, String)] {
        [
            ("authorization", "bearer \(jwt ?? providerToken)"), ("apns-push-type", "liveactivity"),
            ("apns-topic", Self.topic), ("apns-priority", "10"),
        ]
    }

    struct Answer {
        var status: Int
        var reason: String?
        var timestamp: Int?
        var id: String?
        var retryAfter: String?
    }

    /// Sends one push on its own connection, through libcurl.
    func push(
        _ token: String = token(1), payload: String = update(1_763_700_000), method: String = "POST",
        path: String? = nil, headers: [(String, String)]? = nil, timeout: Duration = .seconds(120)
    ) async throws -> Answer {
        var request = HTTPRequest(method, simulator.url + (path ?? "/3/device/\(token)"))
        request.headers = headers ?? self.headers()
        request.body = .bytes(Array(payload.utf8))
        request.caFile = simulator.caFile
        request.requiresHTTP2 = true
        request.timeout = timeout
        let response = try await HTTPClient().send(request)
        let json = try? JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any]
        return Answer(
            status: response.status, reason: json?["reason"] as? String, timestamp: json?["timestamp"] as? Int,
            id: response.header("apns-id"), retryAfter: response.header("retry-after"))
    }

    /// Waits until the record is as wanted. Fails if that takes longer than any machine should need.
    func wait(_ isWanted: (SimulatorRecord) -> Bool) async throws {
        try await eventually("the record is as wanted: \(simulator.snapshot())", every: .milliseconds(1)) {
            isWanted(simulator.snapshot())
        }
    }
}

/// A simulator that a test has started.
protocol RunningSimulator {
    var simulator: APNsSimulator { get }
}

extension SimulatorFixture: RunningSimulator {}
extension FCMFixture: RunningSimulator {}

extension RunningSimulator {
    /// Calls the control interface.
    func control(_ method: String, _ path: String, _ body: String? = nil) async throws -> (status: Int, text: String) {
        var request = HTTPRequest(method, (try #require(simulator.controlURL)) + "/simulator" + path)
        request.body = body.map { .bytes(Array($0.utf8)) }
        request.timeout = .seconds(120)
        let response = try await HTTPClient().send(request)
        return (response.status, String(decoding: response.body, as: UTF8.self))
    }
}
