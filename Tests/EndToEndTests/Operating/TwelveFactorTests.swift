import Foundation
import TestSupport
import Testing

/// A deployment as a hosting service starts it: nothing but variables, no file of the operator's.
@Suite("As hosting services start it")
struct TwelveFactorTests {
    @Test func `variables alone: the key as text, REDIS_URL with a pinned certificate, PORT`() async throws {
        let authority = try TestAuthority()
        let identity = try authority.issue("server", host: ["redis.example.com"])
        let redis = try await EncryptedRedis.start(authority, identity: identity)
        let deployment = try await Deployment.start()
        let keyFile = deployment.environment["LAMPLIGHTER_APNS_KEY_FILE"] ?? ""
        let key = try String(contentsOfFile: keyFile, encoding: .utf8)
        let roots = try String(
            contentsOfFile: deployment.environment["LAMPLIGHTER_APNS_CA_FILE"] ?? "", encoding: .utf8)
        let port = try freePort()
        var environment = deployment.environment.merging([
            "LAMPLIGHTER_REDIS_URL": "", "REDIS_URL": "rediss://127.0.0.1:\(redis.port)",
            "LAMPLIGHTER_APNS_KEY_FILE": "", "LAMPLIGHTER_APNS_KEY": key.replacing("\n", with: "\\n"),
            "LAMPLIGHTER_APNS_CA_FILE": "", "LAMPLIGHTER_APNS_CA": Data(roots.utf8).base64EncodedString(),
            "LAMPLIGHTER_GATEWAY_URL": "http://127.0.0.1:\(port)", "PORT": "\(port)",
        ]) { $1 }
        let refused = try await deployment.run("status", environment: environment)
        let digest = try #require(refused.err.firstMatch(of: /sha256:[0-9a-f]{64}/), "\(refused.err)")
        #expect(refused.code == 78)
        environment["LAMPLIGHTER_REDIS_VERIFY"] = String(digest.0)
        let gateway = try Program([Program.path, "serve"], directory: deployment.directory, environment: environment)
        try await gateway.waitForLog("listening")
        #expect(gateway.err.contains("the variable PORT is set"), "127.0.0.1 is of no use there")
        let worker = try Program([Program.path, "work"], directory: deployment.directory, environment: environment)
        try await worker.waitForLog("ready for work")
        let ready = try await deployment.call("GET", "http://127.0.0.1:\(port)/readyz", user: nil)
        #expect(ready.status == 200)
        let channel = Deployment.channel(1)
        let tracked = try await deployment.run(
            "track", "match-42", channel, Deployment.token(1), environment: environment)
        #expect(tracked.code == 0, "\(tracked.err)")
        let published = try await deployment.run(
            "publish", "match-42", "--content-state", "{}", "--wait", environment: environment)
        #expect(published.code == 0, "\(published.err)")
        let doctor = try await deployment.run("doctor", environment: environment)
        #expect(doctor.code == 0 && doctor.out.contains("a P-256 key that signs"), "\(doctor.out)\(doctor.err)")
        let unchecked = try await deployment.run(
            "doctor", environment: environment.merging(["LAMPLIGHTER_REDIS_VERIFY": "none"]) { $1 })
        #expect(unchecked.out.contains(/! Redis +redis\.verify is none/), "\(unchecked.out)")
        for program in [gateway, worker] { program.signal(SIGTERM) }
        #expect(await gateway.end()?.code == 0)
        #expect(await worker.end()?.code == 0)
    }

    @Test func `a secret on standard input, and the whole configuration there`() async throws {
        let deployment = try await Deployment.start()
        let path = deployment.directory + "/input"
        func gateway(_ input: String, _ arguments: String, _ change: [String: String]) async throws -> Program {
            try input.write(toFile: path, atomically: false, encoding: .utf8)
            let program = try Program(
                ["/bin/sh", "-c", "exec \"$0\" serve --port 0 \(arguments) <'\(path)'", Program.path],
                directory: deployment.directory, environment: deployment.environment.merging(change) { $1 })
            try await program.waitForLog("listening")
            // A reload asks for it again.
            program.signal(SIGHUP)
            try await program.waitForLog("configuration read again")
            return program
        }
        func isOpen(_ program: Program, _ user: String) async throws -> Bool {
            let url = try #require(program.err.firstMatch(of: /listening.*url=(http\S+)/)).1
            return try await deployment.call("GET", "\(url)/api/activities", user: user).status == 200
        }
        let secret = try await gateway(
            "piped-master-0123456789\n", "",
            ["LAMPLIGHTER_APP_MASTER_SECRET": "", "LAMPLIGHTER_APP_MASTER_SECRET_FILE": "-"])
        #expect(try await isOpen(secret, "shop:piped-master-0123456789"))
        let yaml = """
            apps:
              - key: news
                secret: news-secret-0123456789
                master_secret: news-master-0123456789
                bundle_id: com.example.news
            """
        let whole = try await gateway(yaml, "--config -", [:])
        #expect(try await isOpen(whole, "news:news-master-0123456789"))
        for program in [secret, whole] { program.signal(SIGTERM) }
        #expect(await secret.end()?.code == 0)
        #expect(await whole.end()?.code == 0)
    }

    /// Services and supervisors kill after 30 s.
    @Test func `SIGTERM ends a gateway within 30 s, whatever a client does`() async throws {
        let deployment = try await Deployment.start(environment: ["LAMPLIGHTER_GATEWAY_READ_TIMEOUT": "10m"])
        let port = try #require(deployment.gatewayURL.split(separator: ":").last.flatMap { Int($0) })
        let socket = try connectedSocket(port: port)
        defer { close(socket) }
        let basic = Data("shop:shop-master".utf8).base64EncodedString()
        let head =
            "POST /api/push HTTP/1.1\r\nHost: h\r\nAuthorization: Basic \(basic)\r\n"
            + "Content-Length: 100\r\nExpect: 100-continue\r\n\r\n"
        #expect(send(socket, head, head.utf8.count, 0) == head.utf8.count)
        // The gateway asks for the body, which never comes.
        var answer = [UInt8](repeating: 0, count: 64)
        #expect(recv(socket, &answer, answer.count, 0) > 0)
        #expect(String(decoding: answer, as: UTF8.self).hasPrefix("HTTP/1.1 100"))
        let began = ContinuousClock.now
        deployment.gateway.signal(SIGTERM)
        #expect(await deployment.gateway.end(within: .seconds(60))?.code == 0)
        #expect(began.duration(to: .now) < .seconds(29))
    }
}
