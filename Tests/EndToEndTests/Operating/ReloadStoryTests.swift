import Curl
import Foundation
import Synchronization
import TestSupport
import Testing

/// Changes by an operator while gateways and workers run.
@Suite("Reload")
struct ReloadStoryTests {
    /// The configuration file of a deployment, which the test rewrites.
    private struct File {
        let announced: Deployment.Announcement
        let authority: TestAuthority?
        var secret = "the-first-app-secret"
        var master = "the-first-master-secret"
        var keyID = "SIMULATOR1"
        var keyFile = ""
        var next: (id: String, file: String)?
        var head = ""
        var tail = ""

        var text: String {
            let tls = authority.map {
                """
                gateway:
                  cert_file: \($0.directory)/gateway.pem
                  key_file: \($0.directory)/gateway.key
                  ca_file: \($0.caFile)

                """
            }
            let second = next.map { "      next_key_id: \($0.id)\n      next_key_file: \($0.file)\n" }
            return (tls ?? "") + head + """
                apps:
                  - key: shop
                    secret: \(secret)
                    master_secret: \(master)
                    bundle_id: com.example.shop
                    apns:
                      team_id: \(announced["team_id"] ?? "")
                      key_id: \(keyID)
                      key_file: \(keyFile)
                      url: \(announced["url"] ?? "")
                      manage_url: \(announced["manage_url"] ?? "")
                      ca_file: \(announced["ca_file"] ?? "")

                """ + (second ?? "") + tail
        }

        init(_ announced: Deployment.Announcement, _ authority: TestAuthority? = nil) {
            (self.announced, self.authority) = (announced, authority)
            keyFile = announced["key_file"] ?? ""
        }

        var secondKeyFile: String { (announced["key_file"] ?? "").replacing("SIMULATOR1", with: "SIMULATOR2") }

        func write(_ deployment: Deployment) throws {
            try text.write(toFile: deployment.directory + "/lamplighter.yaml", atomically: true, encoding: .utf8)
        }
    }

    /// Keeps the first file that a deployment was started with.
    private final class Kept: Sendable {
        let file = Mutex<File?>(nil)
    }

    private func start(
        _ flags: [String] = ["--keys", "2"], authority: TestAuthority? = nil,
        change: @escaping (inout File) -> Void = { _ in }
    ) async throws -> (Deployment, File) {
        let kept = Kept()
        let deployment = try await Deployment.start(simulator: flags) { announced in
            var file = File(announced, authority)
            change(&file)
            kept.file.withLock { $0 = file }
            return file.text
        }
        return (deployment, try #require(kept.file.withLock { $0 }))
    }

    @Test func `several reloads at once are all answered`() async throws {
        let (deployment, _) = try await start()
        try await withThrowingTaskGroup { group in
            for _ in 0..<4 { group.addTask { try await deployment.run("reload") } }
            for try await reload in group {
                #expect(reload.code == 0 && reload.out.contains("✓ gateway"), "\(reload.out)\(reload.err)")
            }
        }
    }

    @Test
    func `a secret, an APNs key and a certificate change under load without one failed push or request`() async throws {
        let authority = try TestAuthority()
        _ = try authority.issue("gateway")
        var (deployment, file) = try await start(authority: authority)
        #expect(deployment.gatewayURL.hasPrefix("https://"))
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        _ = try await deployment.importChannels(1_000, name: "match")

        let load = Load(deployment, authority.caFile, secret: file.master)
        let running = Task { await load.run() }
        try await load.wait(for: 5)

        file.keyID = "SIMULATOR2"
        file.keyFile = file.secondKeyFile
        file.secret = "the-second-app-secret"
        try file.write(deployment)
        let reload = try await deployment.run("reload")
        #expect(reload.code == 0, "\(reload.out)\(reload.err)")
        #expect(reload.out.contains("gateway") && reload.out.contains("shop: secret"), "\(reload.out)")
        #expect(reload.out.contains("worker one: shop: apns.key_id, shop: apns.key_file"), "\(reload.out)")
        #expect(!reload.out.contains("the-second"))
        try await load.wait(for: 10)

        _ = try authority.issue("gateway")
        try await deployment.gateway.waitForLog("read changed files again")
        try await load.wait(for: 10)

        load.stop()
        let pushes = await running.value
        #expect(load.failed == [], "a request failed")
        for push in pushes {
            try await eventually("the end of \(push)") {
                let ledger = try await load.ledger(push)
                #expect(ledger.failed == 0)
                return ledger.isFinal
            }
        }
        let record = try await deployment.record()
        #expect((record["by_reason"] as? [String: Int] ?? [:]).isEmpty, "\(record)")
        #expect(record["provider_tokens"] as? Int == 2)
        #expect(record["duplicates"] as? Int ?? 0 == 0)
        // The device's new secret opens what it opened before, and the old one nothing.
        #expect(try await load.track(with: file.secret) == 200)
        #expect(try await load.track(with: "the-first-app-secret") == 401)
    }

    @Test func `a second key takes over when APNs refuses the first, and the key's file is watched`() async throws {
        let (deployment, _) = try await start { file in
            file.next = ("SIMULATOR2", file.secondKeyFile)
        }
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        _ = try await deployment.importChannels(500, name: "match")
        func publish(_ state: Int) async throws -> Ledger {
            let output = try await deployment.run(
                "publish", "match", "--content-state", "{\"n\":\(state)}", "--wait", "--json")
            return try Ledger(output.out)
        }
        #expect(try await publish(1)["delivered"] == 500)
        let faults = #"{"refused_keys":{"SIMULATOR1":"InvalidProviderToken"}}"#
        let url = deployment.controlURL + "/simulator/faults"
        #expect(try await deployment.call("POST", url, user: nil, body: faults).status == 200)
        let second = try await publish(2)
        #expect(second["delivered"] == 500 && second["failed"] == 0)
        try await worker.waitForLog("the app's other key signs from now on")
        #expect(worker.err.contains("refused=SIMULATOR1") && worker.err.contains("key=SIMULATOR2"))
        let alarms = try await deployment.call("GET", "\(deployment.gatewayURL)/readyz", user: nil).json["alarms"]
        #expect((alarms as? [Any])?.isEmpty == true, "the app's sends never halted")
    }

    @Test func `a file that cannot be used changes nothing and says why`() async throws {
        var (deployment, file) = try await start()
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        let good = file.text
        try (good + "wrong_section: 1\n").write(
            toFile: deployment.directory + "/lamplighter.yaml", atomically: true, encoding: .utf8)
        let broken = try await deployment.run(
            "reload", environment: ["LAMPLIGHTER_CONFIG": "", "LAMPLIGHTER_REDIS_URL": "\(deployment.redis.url)"])
        #expect(broken.code == 1, "\(broken.out)\(broken.err)")
        #expect(broken.out.contains("nothing has changed"), "\(broken.out)")
        #expect(broken.out.contains("unknown key 'wrong_section'"), "\(broken.out)")

        // The key's file is missing: the worker refuses all of it, also the new limit.
        file.keyFile = deployment.directory + "/missing.p8"
        file.head = "worker: {max_attempts: 3}\n"
        try file.write(deployment)
        let missing = try await deployment.run("reload")
        #expect(missing.code == 1 && missing.out.contains("missing.p8"), "\(missing.out)")

        // Everything goes on with the old settings.
        try good.write(toFile: deployment.directory + "/lamplighter.yaml", atomically: true, encoding: .utf8)
        let fine = try await deployment.run("reload")
        #expect(fine.code == 0, "\(fine.out)")
        #expect(fine.out.contains("nothing has changed") && !fine.out.contains("max_attempts"), "\(fine.out)")
    }

    @Test func `a credential's secret in a file is read again when the file changes`() async throws {
        let first = "the-first-secret-of-a-backend"
        let second = "the-second-secret-of-a-backend"
        let directory = try temporaryDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let secretFile = directory + "/backend.secret"
        try (first + "\n").write(toFile: secretFile, atomically: true, encoding: .utf8)
        let (deployment, _) = try await start { file in
            file.tail = """
                    credentials:
                      - id: backend
                        scopes: track
                        secret_file: \(secretFile)

                """
        }
        func follow(_ secret: String) async throws -> Int {
            try await deployment.call(
                "PUT", "\(deployment.gatewayURL)/api/activities/match/channels/c", user: "shop/backend:\(secret)",
                body: #"{"token":"aa"}"#
            ).status
        }
        #expect(try await follow(first) == 200)
        #expect(try await follow(second) == 401)
        // Too short: the old one stays in use.
        try "short".write(toFile: secretFile, atomically: true, encoding: .utf8)
        try await deployment.gateway.waitForLog("a changed file is not usable")
        #expect(try await follow(first) == 200)
        try second.write(toFile: secretFile, atomically: true, encoding: .utf8)
        try await eventually("the new secret is in use") { try await follow(second) == 200 }
        #expect(try await follow(first) == 401)
        func reloads() async throws -> Int {
            let log = try await deployment.run("actions", "--action", "reload", "--json").out
            return log.ranges(of: #""credential":"file""#).count
        }
        try await eventually("the log of actions has the new secret, and not the one that was refused") {
            try await reloads() == 1
        }
        // A SIGHUP reads the file before the process has looked at it.
        let third = "the-third-secret-of-a-backend"
        try third.write(toFile: secretFile, atomically: true, encoding: .utf8)
        deployment.gateway.signal(SIGHUP)
        try await eventually("the third secret is in use, and told") {
            let (used, told) = (try await follow(third) == 200, try await reloads() == 2)
            return used && told
        }
        for secret in [first, second, third, "short"] {
            #expect(!deployment.gateway.err.contains("=\(secret)") && !deployment.gateway.err.contains(" \(secret)"))
        }
    }

    @Test func `a SIGHUP while a process still waits for Redis does not end it`() async throws {
        let directory = try temporaryDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let gateway = try Program(
            [Program.path, "serve", "--port", "0"], directory: directory,
            environment: [
                "LAMPLIGHTER_REDIS_URL": "unix://\(directory)/absent.sock", "LAMPLIGHTER_APP_KEY": "shop",
                "LAMPLIGHTER_APP_SECRET": "shop-secret", "LAMPLIGHTER_APP_MASTER_SECRET": "shop-master",
                "LAMPLIGHTER_APP_BUNDLE_ID": "com.example.shop",
            ])
        defer { gateway.kill() }
        try await gateway.waitForLog("waiting for Redis")
        gateway.signal(SIGHUP)
        let end = try #require(await gateway.end(within: .seconds(600)))
        #expect(end.code == 69, "it waited until its patience was over: \(end.err)")
    }

    @Test func `what needs a restart is named, and the rest is used at once`() async throws {
        var (deployment, file) = try await start()
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        file.head = "log: {level: debug}\nworker: {lanes: 3}\nlimits: {names: 1}\n"
        try file.write(deployment)
        let output = try await deployment.run("reload", "--json")
        #expect(output.code == 0)
        let json = try JSONSerialization.jsonObject(with: Data(output.out.utf8)) as? [String: Any]
        let processes = json?["processes"] as? [[String: Any]] ?? []
        let answers = processes.reduce(into: [String: [String: Any]]()) { answers, process in
            let answer = process["answer"] as? [String: Any] ?? [:]
            answers[answer["process"] as? String ?? ""] = answer
        }
        #expect(answers["worker"]?["needs_restart"] as? [String] == ["worker.lanes"])
        #expect(answers["worker"]?["applied"] as? [String] == ["log.level"])
        #expect(answers["gateway"]?["needs_restart"] as? [String] == [])
        #expect(answers["gateway"]?["applied"] as? [String] == ["limits.names", "log.level"])

        // The new limit is in force, and SIGHUP does the same for one process.
        func follow(_ name: String) async throws -> Int {
            try await deployment.call(
                "PUT", "\(deployment.gatewayURL)/api/activities/\(name)/channels/c", user: "shop:\(file.master)",
                body: #"{"token":"aa"}"#
            ).status
        }
        #expect(try await follow("one") == 200)
        #expect(try await follow("two") == 429)
        file.head = ""
        try file.write(deployment)
        deployment.gateway.signal(SIGHUP)
        try await eventually("the limit is gone") { try await follow("two") == 200 }
        try await deployment.gateway.waitForLog("reason=SIGHUP")
    }

    @Test func `a port for the monitor waits for a restart, and until then the gateway itself is ready`() async throws {
        var (deployment, file) = try await start()
        file.head = "monitor: {port: 0}\n"
        try file.write(deployment)
        let reload = try await deployment.run("reload")
        #expect(reload.out.contains("needs a restart for monitor.port"), "\(reload.out)")
        let ready = try await deployment.call("GET", deployment.gatewayURL + "/readyz", user: nil)
        #expect(ready.status == 200, "\(ready.text)")
    }
}

/// Publishes without a pause, and reads what became of it.
private final class Load: Sendable {
    private let deployment: Deployment
    private let caFile: String
    private let master: String
    private let isOver = Atomic(false)
    private let accepted = Atomic(0)
    private let failures = Mutex<[String]>([])

    init(_ deployment: Deployment, _ caFile: String, secret: String) {
        (self.deployment, self.caFile, master) = (deployment, caFile, secret)
    }

    var failed: [String] { failures.withLock { $0 } }
    func stop() { isOver.store(true, ordering: .relaxed) }

    /// Waits for so many more accepted pushes.
    func wait(for more: Int) async throws {
        let wanted = accepted.load(ordering: .relaxed) + more
        try await eventually("\(wanted) pushes are accepted; failed: \(failed)") {
            accepted.load(ordering: .relaxed) >= wanted
        }
    }

    /// - Returns: the ids of all accepted pushes.
    func run() async -> [String] {
        var pushes: [String] = []
        var number = 0
        while !isOver.load(ordering: .relaxed) {
            number += 1
            let body =
                #"{"audience":"all","device_types":["ios"],"notification":{"ios":{"live_activity":{"name":"match","#
                + #""event":"update","content_state":{"n":\#(number)}}}}}"#
            do {
                let (status, json) = try await call("POST", "/api/push", "shop:\(master)", body)
                if status == 202 {
                    pushes += json["push_ids"] as? [String] ?? []
                    accepted.add(1, ordering: .relaxed)
                } else {
                    failures.withLock { $0.append("\(status) \(json)") }
                }
            } catch {
                failures.withLock { $0.append("\(error)") }
            }
        }
        return pushes
    }

    func ledger(_ push: String) async throws -> (isFinal: Bool, failed: Int) {
        let (_, json) = try await call("GET", "/api/push/\(push)", "shop:\(master)", nil)
        let state = json["state"] as? String ?? ""
        return (["done", "superseded"].contains(state), json["failed"] as? Int ?? 0)
    }

    func track(with secret: String) async throws -> Int {
        try await call("PUT", "/api/activities/other/channels/c", "shop:\(secret)", #"{"token":"aa"}"#).status
    }

    private func call(
        _ method: String, _ path: String, _ user: String, _ body: String?
    ) async throws -> (status: Int, json: [String: Any]) {
        let headers = [
            ("Content-Type", "application/json"),
            ("Authorization", "Basic " + Data(user.utf8).base64EncodedString()),
        ]
        let url = deployment.gatewayURL.replacing("127.0.0.1", with: "localhost") + path
        let response = try await HTTPClient().send(
            HTTPRequest(
                method, url, headers: headers, body: body.map { .bytes(Array($0.utf8)) }, caFile: caFile,
                timeout: .seconds(120)))
        let json = (try? JSONSerialization.jsonObject(with: Data(response.body))) as? [String: Any] ?? [:]
        return (response.status, json)
    }
}
