import Curl
import Foundation
import LiveActivity
import OpenSSL
import Synchronization
import TestSupport
import Testing

@testable import HTTPAPI

/// A gateway that speaks TLS itself, and real clients.
@Suite struct TLSTests {
    /// Tells clients when to stop, and counts their answers.
    private final class Load: Sendable {
        let isOver = Atomic(false)
        let answered = Atomic(0)
    }

    private func identity(_ authority: TestAuthority, _ name: String) throws -> TLSIdentity {
        try TLSIdentity(authority.issue(name).pem, applicationProtocol: "http/1.1")
    }

    private func get(
        _ it: GatewayFixture, _ path: String, _ authority: TestAuthority, body: String? = nil,
        headers: [(String, String)] = []
    ) async throws -> HTTPResponse {
        let user = Base64.encode("\(GatewayFixture.key):\(GatewayFixture.masterSecret)".utf8)
        return try await HTTPClient().send(
            HTTPRequest(
                body == nil ? "GET" : "POST", "https://localhost:\(it.port)\(path)",
                headers: [("Authorization", "Basic " + user)] + headers,
                body: body.map { .bytes(Array($0.utf8)) }, caFile: authority.caFile, timeout: .seconds(120)))
    }

    @Test func `requests of all sizes go through TLS`() async throws {
        let authority = try TestAuthority()
        let own = try identity(authority, "gateway")
        try await GatewayFixture.run(configure: { $0.identity = own }) { it in
            #expect(try await get(it, "/healthz", authority).status == 200)
            // A body of many TLS records, and an answer of many.
            let lines = (0..<20_000).map { #"{"channel":"c\#($0)","token":"\#(String(repeating: "ab", count: 40))"}"# }
            let bulk = try await get(
                it, "/api/activities/match/channels", authority, body: lines.joined(separator: "\n"))
            #expect(bulk.status == 200)
            let list = try await get(it, "/api/activities/match/channels?limit=800", authority)
            #expect(list.status == 200 && list.body.count > 10_000)
            let api = try await get(it, "/openapi.json", authority)
            #expect(api.body.count > 100_000)
            let metrics = String(decoding: try await get(it, "/metrics", authority).body, as: UTF8.self)
            let expiry = try #require(own.expiresAt)
            #expect(metrics.contains("\nlamplighter_gateway_certificate_expires_seconds \(expiry)\n"))
        }
    }

    @Test func `links to other calls say https`() async throws {
        let authority = try TestAuthority()
        let own = try identity(authority, "gateway")
        try await GatewayFixture.run(configure: { $0.identity = own }) { it in
            let push =
                #"{"audience":"all","device_types":["ios"],"notification":{"ios":{"live_activity":{"name":"m","#
                + #""event":"update","content_state":{}}}}}"#
            let made = try await get(
                it, "/api/schedules", authority,
                body: #"{"schedule":{"scheduled_time":"2026-11-21T19:00:00"},"push":\#(push)}"#)
            let text = String(decoding: made.body, as: UTF8.self)
            #expect(text.contains("https://localhost:\(it.port)/api/schedules/"), "\(text)")
        }
    }

    @Test func `the gateway takes TLS 1_2 and 1_3 and refuses what is older`() async throws {
        let authority = try TestAuthority()
        let own = try identity(authority, "gateway")
        try await GatewayFixture.run(configure: { $0.identity = own }) { it in
            func shake(_ version: String) async throws -> String {
                // Level 0: the client itself would not speak the old versions otherwise.
                let shell =
                    "echo | openssl s_client -connect localhost:\(it.port) -CAfile \(authority.caFile) -\(version) "
                    + "-cipher 'ALL:@SECLEVEL=0' 2>&1; true"
                return try await ChildProcess.run(["/bin/sh", "-c", shell]).out
            }
            for version in ["tls1", "tls1_1"] {
                let said = try await shake(version)
                #expect(said.contains("alert protocol version"), "\(version): \(said)")
            }
            #expect(try await shake("tls1_2").contains("Verify return code: 0"))
            for suite in ["ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES256-SHA384", "ECDHE-ECDSA-AES128-GCM-SHA256"] {
                let shell =
                    "echo | openssl s_client -connect localhost:\(it.port) -CAfile \(authority.caFile) -tls1_2 "
                    + "-cipher '\(suite):@SECLEVEL=0' 2>&1; true"
                let said = try await ChildProcess.run(["/bin/sh", "-c", shell]).out
                #expect(said.contains("handshake failure") == !suite.contains("GCM"), "\(suite): \(said)")
            }
            let console = try await get(it, "/console/sign-in", authority)
            #expect(console.header("strict-transport-security") == "max-age=2592000")
            let newest = try await shake("tls1_3")
            #expect(newest.contains("TLSv1.3") && newest.contains("Verify return code: 0"), "\(newest)")
            #expect(try await get(it, "/healthz", authority).status == 200, "others were not disturbed")
        }
    }

    @Test func `plain HTTP on the port of TLS gets no answer, and others go on`() async throws {
        let authority = try TestAuthority()
        let own = try identity(authority, "gateway")
        try await GatewayFixture.run(configure: { $0.identity = own }) { it in
            let plain = try? await it.send("GET", "/healthz")
            #expect(plain == nil)
            let status = try await get(it, "/healthz", authority).status
            #expect(status == 200)
        }
    }

    @Test func `a handshake that never ends is cut off after the idle time`() async throws {
        let authority = try TestAuthority()
        let own = try identity(authority, "gateway")
        try await GatewayFixture.run(configure: {
            $0.identity = own
            $0.idleTimeout = .milliseconds(500)
        }) { it in
            let socket = try Socket(port: it.port)
            // The head of a client hello of 512 bytes, which do not follow.
            socket.send("\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}")
            #expect(await socket.closedByPeer(), "the gateway closes the connection")
        }
    }

    @Test func `a body that trickles in is given up, and its client is told`() async throws {
        let authority = try TestAuthority()
        let own = try identity(authority, "gateway")
        try await GatewayFixture.run(configure: {
            $0.identity = own
            $0.readTimeout = .milliseconds(300)
        }) { it in
            let request =
                "POST /api/push HTTP/1.1\r\nHost: x\r\n\(LimitTests.authorization)Content-Length: 1000\r\n\r\n{"
            // -quiet: the client stays after the end of its input, until the gateway closes.
            let shell =
                "printf '\(request)' | openssl s_client -connect localhost:\(it.port) -CAfile \(authority.caFile) "
                + "-quiet 2>/dev/null; true"
            let text = try await ChildProcess.run(["/bin/sh", "-c", shell]).out
            #expect(text.hasPrefix("HTTP/1.1 408 "), "\(text)")
            #expect(text.contains("\"error_code\":40800"))
            #expect(try await get(it, "/healthz", authority).status == 200)
        }
    }

    @Test func `a certificate is replaced under load without a failed request`() async throws {
        let authority = try TestAuthority()
        let first = try identity(authority, "first")
        try await GatewayFixture.run(configure: { $0.identity = first }) { it in
            let load = Load()
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        var failed = 0
                        while !load.isOver.load(ordering: .relaxed) {
                            let status = try? await get(it, "/healthz", authority).status
                            if status == 200 { load.answered.add(1, ordering: .relaxed) } else { failed += 1 }
                        }
                        return failed
                    }
                }
                for number in 0..<10 {
                    let seen = load.answered.load(ordering: .relaxed)
                    var next = GatewayConfiguration(
                        apps: [
                            GatewayApp(
                                key: try it.app, secret: GatewayFixture.secret,
                                masterSecret: GatewayFixture.masterSecret)
                        ])
                    next.identity = try identity(authority, "renewed-\(number)")
                    it.gateway.reload(next, store: it.store)
                    try await eventually("requests after the change") {
                        load.answered.load(ordering: .relaxed) >= seen + 10
                    }
                }
                load.isOver.store(true, ordering: .relaxed)
                for try await failed in group { #expect(failed == 0) }
            }
        }
    }
}
