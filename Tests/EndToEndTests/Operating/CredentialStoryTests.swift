import Foundation
import TestSupport
import Testing

/// Tests provider tokens and refused credentials as an operator sees them: processes, Redis and the simulator.
@Suite("Credentials")
struct CredentialStoryTests {
    private func faults(_ body: String, _ deployment: Deployment) async throws {
        let url = deployment.controlURL + "/simulator/faults"
        #expect(try await deployment.call("POST", url, user: nil, body: body).status == 200)
    }

    private func deliver(_ deployment: Deployment, _ name: String) async throws -> Int {
        let output = try await deployment.run("publish", name, "--content-state", "{}", "--wait", "--json")
        return try Ledger(output.out)["delivered"]
    }

    private func number(_ deployment: Deployment, _ field: String) async throws -> Int {
        try await deployment.record()[field] as? Int ?? -1
    }

    @Test func `three workers send with one provider token, and renew it once when APNs calls it expired`() async throws
    {
        let deployment = try await Deployment.start()
        var workers: [Program] = []
        for name in ["one", "two", "three"] { workers.append(try await deployment.worker(name)) }
        defer { for worker in workers { worker.kill() } }
        for name in 0..<6 {
            _ = try await deployment.importChannels(200, name: "match-\(name)")
            #expect(try await deliver(deployment, "match-\(name)") == 200)
        }
        #expect(try await number(deployment, "provider_tokens") == 1)
        try await faults(#"{"expire_next":1}"#, deployment)
        for name in 0..<6 {
            #expect(try await deliver(deployment, "match-\(name)") == 200)
        }
        #expect(try await number(deployment, "provider_tokens") == 2)
        let key = try Deployment.keysOfProviderTokens()
        for worker in workers {
            #expect(!worker.err.contains("eyJ") && !worker.err.contains(key), "a token in the log")
        }
    }

    @Test func `no variable of the environment makes it write the keys of its TLS sessions`() async throws {
        let deployment = try await Deployment.start()
        let before = try await number(deployment, "connections")
        let file = deployment.directory + "/keys.log"
        _ = try await deployment.run("doctor", environment: ["SSLKEYLOGFILE": file])
        #expect(try await number(deployment, "connections") > before, "it has spoken TLS")
        #expect(!FileManager.default.fileExists(atPath: file))
    }

    @Test func `doctor names the files with secrets that others can read or change, and what to do`() async throws {
        let deployment = try await Deployment.start()
        let (file, secret) = (deployment.directory + "/shop.yaml", deployment.directory + "/backend.secret")
        try """
        apps:
          - key: shop
            secret: the-secret-of-the-app-0001
            master_secret: the-master-secret-0000001
            bundle_id: com.example.shop
            apns: {url: "https://127.0.0.1:1"}
            credentials:
              - id: backend
                scopes: track
                secret_file: backend.secret

        """.write(toFile: file, atomically: true, encoding: .utf8)
        try "the-secret-of-a-backend\n".write(toFile: secret, atomically: true, encoding: .utf8)
        /// The app comes from the file alone, as an installed package has it.
        func doctor(_ mode: Int) async throws -> String {
            for path in [file, secret] {
                try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            }
            let shell = "env -i '\(Program.path)' doctor --config '\(file)' --redis-url '\(deployment.redis.url)'"
            return try await deployment.shell(shell).out
        }
        let open = try await doctor(0o644)
        #expect(open.contains("every user of this machine can read \(file)"), "\(open)")
        #expect(open.contains("! credential shop/backend"), "\(open)")
        #expect(open.contains("→ chmod 600 \(secret)"), "\(open)")
        let closed = try await doctor(0o600)
        #expect(!closed.contains("can read") && !closed.contains("credential shop/backend"), "\(closed)")
    }

    @Test
    func `refused credentials halt the app's sends, keep its work, and show everywhere; a probe that passes ends it`()
        async throws
    {
        let deployment = try await Deployment.start()
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        _ = try await deployment.importChannels(3_000, name: "match")
        try await faults(#"{"reject_all":"InvalidProviderToken"}"#, deployment)
        let push = try await deployment.publish("match")
        try await worker.waitForLog("refuses this app's credentials")
        let halted = try await deployment.record()
        // At most one request for each open page was sent, because the first response stopped the rest.
        #expect((1...8).contains(halted["requests"] as? Int ?? 0), "\(halted)")

        // The worker logs the refusal before it raises the alarm in Redis.
        var alarm: [String: Any]?
        try await eventually("an alarm in readyz") {
            let ready = try await deployment.call("GET", "\(deployment.gatewayURL)/readyz", user: nil)
            alarm = (ready.json["alarms"] as? [[String: Any]])?.first
            return ready.status == 200 && alarm != nil
        }
        #expect(alarm?["kind"] as? String == "credentials" && alarm?["reason"] as? String == "InvalidProviderToken")
        let metrics = try await deployment.call("GET", "\(deployment.gatewayURL)/metrics", user: nil).text
        #expect(metrics.contains(#"lamplighter_fleet_alarms{app="shop",kind="credentials"} 1"#))
        let status = try await deployment.run("status")
        #expect(status.out.contains("credentials: InvalidProviderToken"), "\(status.out)")

        // By now each open page's request has arrived, which the first count may have missed.
        let sent = try await number(deployment, "requests")
        #expect((1...8).contains(sent))
        // The worker tries again by itself with one request, and nothing is lost.
        var probed = sent
        try await eventually("a probe") {
            probed = try await number(deployment, "requests")
            return probed > sent
        }
        #expect(probed == sent + 1)
        try await faults("{}", deployment)
        // The worker is killed. Another worker begins with a probe at once, because the alarm is still raised.
        worker.kill()
        let heir = try await deployment.worker("heir")
        defer { heir.kill() }
        _ = try await deployment.importChannels(10, name: "other")
        #expect(try await deliver(deployment, "other") == 10)
        try await eventually("the halted push") {
            let ledger = try await deployment.ledger(push)
            return ledger.state == "done" && ledger["delivered"] == 3_000 && ledger.addsUp
        }
        let after = try await deployment.call("GET", "\(deployment.gatewayURL)/readyz", user: nil)
        #expect((after.json["alarms"] as? [Any])?.isEmpty == true)
        let record = try await deployment.record()
        #expect(record["accepted"] as? Int == 3_010 && record["accepted_tokens"] as? Int == 3_000, "\(record)")
    }
}
