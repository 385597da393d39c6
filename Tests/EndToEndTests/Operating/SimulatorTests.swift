import Foundation
import TestSupport
import Testing

/// Tests `lamplighter simulate` as a separate server.
@Suite("The simulator's address")
struct SimulatorTests {
    private static let hasIPv6 =
        (try? String(contentsOfFile: "/proc/net/if_inet6", encoding: .utf8))?.contains(" lo") == true

    @Test(arguments: ["127.0.0.2"] + (hasIPv6 ? ["::1"] : []))
    func `at another address too a worker finds it by what it announces`(_ host: String) async throws {
        let deployment = try await Deployment.start(simulator: ["--host", host])
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        let made = try await deployment.broadcast("PUT", "match-1", "{}")
        #expect(made.channel != nil, "\(made.text)")
        try await deployment.follow(1, "")
        let answer = try await deployment.post("match-1", #""all""#, #""event":"update","content_state":{}"#)
        let ledger = try #require(answer.ledger, "\(answer.text)")
        #expect(ledger["delivered"] == 1 && ledger.broadcast["state"] as? String == "delivered", "\(ledger.fields)")
        #expect(try await deployment.record()["accepted"] as? Int == 1)

        let port = try #require(deployment.controlURL.split(separator: ":").last.map(String.init))
        let address = (host.contains(":") ? "[\(host)]" : host) + ":\(port)"
        #expect(deployment.controlURL == "http://\(address)")
        let second = try await deployment.run("simulate", "--host", host, "--control-port", port, "--port", "0")
        #expect(second.code == 1 && second.err.contains("cannot listen on \(address): "), "\(second.err)")
    }

    @Test func `FCM is announced with its service account`() async throws {
        let directory = try TemporaryDirectory()
        let flags = ["--port", "0", "--fcm-quota", "1", "--directory", directory.path("own")]
        let simulator = try Program(
            [Program.path, "simulate", "--json"] + flags, directory: directory.path("."), environment: [:])
        defer { simulator.kill() }
        let announced = try await Deployment.announcement(simulator)
        let text = try Data(contentsOf: URL(fileURLWithPath: try #require(announced["fcm_service_account_file"])))
        let account = try #require(try JSONSerialization.jsonObject(with: text) as? [String: String])
        #expect(account["token_uri"] == "\(announced["fcm_url"] ?? "")/token")
    }
}
