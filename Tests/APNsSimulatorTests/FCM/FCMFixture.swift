import Curl
import Foundation
import Logging
import TestSupport
import Testing

@testable import APNsSimulator

/// A running simulator with FCM, and its service account.
struct FCMFixture {
    let simulator: APNsSimulator
    let directory: String
    let account: [String: String]
    private let keyFile: String

    /// Starts a simulator in its own directory and stops it after `body`.
    static func run(
        _ change: (inout SimulatorConfiguration, inout FCMConfiguration) -> Void = { _, _ in },
        _ body: (FCMFixture) async throws -> Void
    ) async throws {
        let directory = try temporaryDirectory()
        var configuration = SimulatorConfiguration(certificateDirectory: directory)
        configuration.managePort = nil
        configuration.orderMember = "n"
        var fcm = FCMConfiguration()
        change(&configuration, &fcm)
        configuration.fcm = fcm
        var logger = Logger(label: "simulator")
        logger.logLevel = .critical
        let simulator = try await APNsSimulator.start(configuration, logger: logger)
        let result: Result<Void, any Error>
        do {
            let text = try Data(contentsOf: URL(fileURLWithPath: try #require(simulator.serviceAccountFile)))
            let account = try #require(try JSONSerialization.jsonObject(with: text) as? [String: String])
            let keyFile = directory + "/test-key.pem"
            try #require(account["private_key"]).write(toFile: keyFile, atomically: true, encoding: .utf8)
            let fixture = FCMFixture(simulator: simulator, directory: directory, account: account, keyFile: keyFile)
            result = .success(try await body(fixture))
        } catch { result = .failure(error) }
        await simulator.stop()
        try? FileManager.default.removeItem(atPath: directory)
        try result.get()
    }

    var url: String { simulator.fcmURL ?? "" }
    var sendPath: String { "/v1/projects/lamplighter-simulator/messages:send" }

    /// A registration token in about the real form.
    static func token(_ number: Int) -> String {
        "c\(String(format: "%08d", number))" + "abcdefghijklm:APA91b" + String(repeating: "Zz0-_", count: 24)
    }

    // MARK: Access tokens

    /// Claims of an assertion as raw JSON values. Nil leaves the claim out.
    func assertion(_ changes: [String: String?] = [:], header: [String: String] = [:]) async throws -> String {
        let now = Int(Date().timeIntervalSince1970)
        var claims: [String: String] = [
            "iss": "\"\(account["client_email"] ?? "")\"", "aud": "\"\(url)/token\"", "iat": "\(now)",
            "exp": "\(now + 3_600)", "scope": "\"https://www.googleapis.com/auth/firebase.messaging\"",
        ]
        for (name, value) in changes { claims[name] = value }
        var head = ["alg": "RS256", "typ": "JWT", "kid": account["private_key_id"] ?? ""]
        for (name, value) in header { head[name] = value }
        let headText =
            "{\(head.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\"\($0.value)\"" }.joined(separator: ","))}"
        let claimText =
            "{\(claims.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ","))}"
        let signed =
            SimulatorFixture.base64URL(Array(headText.utf8)) + "." + SimulatorFixture.base64URL(Array(claimText.utf8))
        return signed + "." + SimulatorFixture.base64URL(try await sign(signed))
    }

    /// The program `openssl` signs, so that ours cannot be wrong in the same way.
    private func sign(_ text: String) async throws -> [UInt8] {
        let files = (1...2).map { _ in directory + "/" + UUID().uuidString }
        try text.write(toFile: files[0], atomically: false, encoding: .utf8)
        let output = try await ChildProcess.run(
            ["openssl", "dgst", "-sha256", "-sign", keyFile, "-out", files[1], files[0]])
        try #require(output.code == 0, "\(output.out)")
        return Array(try Data(contentsOf: URL(fileURLWithPath: files[1])))
    }

    static func form(_ assertion: String, grantType: String = AccessTokens.grantType) -> String {
        "grant_type=\(grantType.replacingOccurrences(of: ":", with: "%3A"))&assertion=\(assertion)"
    }

    func exchange(
        _ form: String, type: String = "application/x-www-form-urlencoded", http2: Bool = false
    ) async throws -> (status: Int, json: [String: Any]) {
        let answer = try await post("/token", [("content-type", type)], form, http2: http2)
        return (answer.status, answer.json ?? [:])
    }

    func accessToken() async throws -> String {
        let answer = try await exchange(Self.form(try await assertion()))
        return try #require(answer.json["access_token"] as? String, "\(answer)")
    }

    // MARK: Messages

    struct Answer {
        var status: Int
        var text: String
        var json: [String: Any]?
        var retryAfter: String?

        private var error: [String: Any]? { json?["error"] as? [String: Any] }
        private var details: [[String: Any]] { error?["details"] as? [[String: Any]] ?? [] }
        var errorStatus: String? { error?["status"] as? String }
        var errorCode: String? { details.lazy.compactMap { $0["errorCode"] as? String }.first }
        var message: String? { error?["message"] as? String }
        /// The fields of `fieldViolations`, empty for a violation without one.
        var fields: [String] {
            details.compactMap { $0["fieldViolations"] as? [[String: String]] }.joined().map { $0["field"] ?? "" }
        }
        var isUsual: Bool { error?["code"] as? Int == status }
    }

    /// Through libcurl, on a connection of its own.
    func post(
        _ path: String, _ headers: [(String, String)], _ body: String, http2: Bool = true
    ) async throws -> Answer {
        var request = HTTPRequest("POST", url + path, headers: headers, body: .bytes(Array(body.utf8)))
        request.caFile = simulator.caFile
        request.requiresHTTP2 = http2
        request.timeout = .seconds(120)
        let response = try await HTTPClient().send(request)
        return Answer(
            status: response.status, text: String(decoding: response.body, as: UTF8.self),
            json: try? JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any],
            retryAfter: response.header("retry-after"))
    }

    static func headers(_ accessToken: String) -> [(String, String)] {
        [("authorization", "Bearer \(accessToken)"), ("content-type", "application/json; charset=UTF-8")]
    }

    func send(_ accessToken: String, _ body: String) async throws -> Answer {
        try await post(sendPath, Self.headers(accessToken), body)
    }

    /// A message with a live update.
    static func message(
        _ token: String = token(1), event: String = "update", second: Int = 1_795_284_000, order: Int = 1,
        id: String = UUID().uuidString, name: String = "match-42", kind: String = "token"
    ) -> String {
        let state = #"{"n":\#(order)}"#
        let type = event == "start" ? #""type":"match","# : ""
        let update =
            #"{"name":"\#(name)","event":"\#(event)",\#(type)"timestamp":\#(second),"content_state":\#(state)}"#
        let data = [
            "com.urbanairship.push.PUSH_ID": id, "com.urbanairship.push.CANONICAL_PUSH_ID": id,
            "com.urbanairship.push.APID": "channel-1", "com.urbanairship.live_update": update,
        ]
        let fields = data.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\(JSON.quoted($0.value))" }
        return #"{"message":{"\#(kind)":"\#(token)","android":{"priority":"high","ttl":"900s"},"data":{"#
            + fields.joined(separator: ",") + "}}}"
    }

    /// Sends messages on one connection at once, each with its answer's status.
    func sendAll(_ accessToken: String, _ bodies: [String]) async throws -> [Int?] {
        let connection = try await open()
        for (number, body) in bodies.enumerated() {
            try await connection.send(
                RawConnection.request(number, path: sendPath, payload: body, headers: Self.headers(accessToken)))
        }
        var statuses: [Int?] = []
        for number in bodies.indices { statuses.append(try await connection.answer(stream: number).status) }
        await connection.close()
        return statuses
    }

    func open() async throws -> RawConnection {
        try await RawConnection.open(simulator, port: simulator.fcmPort)
    }

    /// Waits until the record is as wanted.
    func wait(_ isWanted: (FCMRecord) -> Bool) async throws {
        try await eventually("the record is as wanted: \(simulator.fcmSnapshot())", every: .milliseconds(1)) {
            isWanted(simulator.fcmSnapshot())
        }
    }
}
