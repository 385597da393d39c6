import Foundation
import TestSupport
import Testing

/// Tests that an error at the start ends the process with the right code and a message that names it.
@Suite("Bad starts")
struct BadStartTests {
    static let app = [
        "LAMPLIGHTER_APP_KEY": "shop", "LAMPLIGHTER_APP_SECRET": "shop-secret",
        "LAMPLIGHTER_APP_MASTER_SECRET": "shop-master", "LAMPLIGHTER_APP_BUNDLE_ID": "com.example.shop",
        "LAMPLIGHTER_APNS_TEAM_ID": "ABCDE12345", "LAMPLIGHTER_APNS_KEY_ID": "FGHIJ67890",
        "LAMPLIGHTER_REDIS_URL": "unix:///nowhere/redis.sock",
    ]

    struct Case: CustomTestStringConvertible, Sendable {
        var arguments: [String]
        var environment: [String: String] = [:]
        var code: Int32
        var words: String
        var testDescription: String { "\(arguments.joined(separator: " ")) \(environment.keys.sorted()) → \(code)" }
    }

    @Test(arguments: [
        Case(arguments: ["--help"], code: 0, words: "lock screen"),
        Case(arguments: ["dead", "--help"], code: 0, words: "expired"),
        Case(arguments: ["--version"], code: 0, words: "lamplighter 0."),
        Case(arguments: ["publsh"], code: 64, words: "'publsh' is no command; did you mean 'publish'?"),
        Case(
            arguments: ["--json", "status"], code: 64,
            words: "options stand behind the command, as in 'lamplighter status --json'"),
        Case(arguments: ["publish", "a", "--contentstate", "{}"], code: 64, words: "Did you mean '--content-state'?"),
        Case(arguments: ["publish", "a", "--content-state", "{"], code: 64, words: "Usage: lamplighter publish"),
        Case(arguments: ["push", "match-42"], code: 64, words: "'lamplighter history match-42' lists"),
        Case(arguments: ["serve", "--prot", "1"], code: 64, words: "--prot"),
        Case(arguments: ["publish", "a"], code: 64, words: "--content-state is needed"),
        Case(arguments: ["publish", "a", "--content-state", "[]"], code: 64, words: "must be a JSON object"),
        Case(
            arguments: ["publish", "a", "--content-state", "{}", "--event", "upd"], code: 64,
            words: "start, update or end"),
        Case(arguments: ["publish", "a", "--content-state", "{}", "--audience", "vips"], code: 64, words: "tag:T"),
        Case(arguments: ["dead", "retry"], code: 64, words: "<id>"),
        Case(arguments: ["quarantine", "discard"], code: 64, words: "give a name, or --all"),
        Case(arguments: ["quarantine", "release", "a", "--all"], code: 64, words: "give a name, or --all"),
        Case(arguments: ["serve", "--config", "missing.yaml"], code: 78, words: "missing.yaml: no such file"),
        Case(arguments: ["serve", "--config", "misspelt.yaml"], code: 78, words: "did you mean 'redis.url'?"),
        Case(arguments: ["serve", "--port", "eighty"], code: 78, words: "gateway.port (--gateway-port)"),
        Case(
            arguments: ["serve"], environment: ["LAMPLIGHTER_APP_KEY": ""], code: 78, words: "LAMPLIGHTER_APP_KEY"),
        Case(
            arguments: ["serve"], environment: ["LAMPLIGHTER_APP_SECRET": ""], code: 78,
            words: "LAMPLIGHTER_APP_SECRET"),
        Case(arguments: ["work"], code: 78, words: "LAMPLIGHTER_APNS_KEY_FILE is not set"),
        Case(
            arguments: ["work"], environment: ["LAMPLIGHTER_APNS_KEY_FILE": "absent.p8"], code: 78,
            words: "absent.p8 does not exist"),
        Case(arguments: ["work"], environment: ["LAMPLIGHTER_APNS_KEY_FILE": "p384.p8"], code: 78, words: "P-384"),
        Case(
            arguments: ["work"], environment: ["LAMPLIGHTER_APNS_KEY_FILE": "text.p8"], code: 78,
            words: "text.p8 holds no PEM block"),
        Case(arguments: ["serve"], environment: ["LAMPLIGHTER_APNS_KEY_FILE": "p384.p8"], code: 78, words: "P-384"),
        Case(
            arguments: ["serve"], environment: ["LAMPLIGHTER_APNS_KEY_FILE": "absent.p8"], code: 69,
            words: "an APNs key is not on this machine"),
        Case(
            arguments: ["work"], environment: ["LAMPLIGHTER_APNS_KEY": "no key"], code: 78,
            words: "its text holds no PEM"),
        Case(
            arguments: ["work"],
            environment: ["LAMPLIGHTER_APNS_KEY_FILE": "good.p8", "LAMPLIGHTER_APNS_CA_FILE": "text.p8"], code: 78,
            words: "ca_file"),
        Case(
            arguments: ["doctor"], environment: ["LAMPLIGHTER_APNS_KEY_FILE": "p384.p8"], code: 78, words: "P-384"),
        Case(arguments: ["serve"], code: 69, words: "Redis is not reachable"),
        Case(
            arguments: ["work"], environment: ["LAMPLIGHTER_APNS_KEY_FILE": "good.p8"], code: 69,
            words: "redis.url is unix:///nowhere"),
        Case(arguments: ["status"], code: 69, words: "Redis is not reachable"),
        Case(
            arguments: ["activity", "a"], environment: ["LAMPLIGHTER_GATEWAY_URL": "http://127.0.0.1:9"], code: 69,
            words: "lamplighter serve"),
        Case(
            arguments: ["activity", "a"],
            environment: ["LAMPLIGHTER_GATEWAY_ULR": "x", "LAMPLIGHTER_GATEWAY_URL": "http://127.0.0.1:9"],
            code: 69,
            words: "did you mean LAMPLIGHTER_GATEWAY_URL?"),
        Case(arguments: ["simulate", "--dead-share", "2"], code: 78, words: "dead"),
        Case(arguments: ["simulate", "--fcm-quota", "0"], code: 78, words: "fcm_quota"),
    ])
    func `wrong usage, wrong configuration, nothing reachable`(_ given: Case) async throws {
        let directory = try temporaryDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let files = [
            "misspelt.yaml": "redis:\n  ulr: x\n", "text.p8": "no key at all\n",
            "p384.p8": try await newKey("P-384"), "good.p8": try await newKey("P-256"),
        ]
        for (name, text) in files {
            try text.write(toFile: directory + "/" + name, atomically: false, encoding: .utf8)
        }
        let program = try Program(
            [Program.path] + given.arguments, directory: directory,
            environment: Self.app.merging(given.environment) { _, own in own })
        let output = try #require(await program.end(within: .seconds(120)), "it still runs")
        #expect(output.code == given.code, "\(output.out)\(output.err)")
        #expect((output.out + output.err).contains(given.words), "\(output.out)\(output.err)")
        #expect(!(output.out + output.err).contains("shop-master"))
    }

    /// The packaged units have a user for the gateway and one for the workers, and one configuration.
    @Test(arguments: [("serve", 69, "Redis is not reachable"), ("work", 78, "cannot be read by this user")])
    func `a gateway starts beside a key that only the user of its workers reads`(
        command: String, code: Int32, words: String
    ) async throws {
        let directory = try temporaryDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        #expect(
            FileManager.default.createFile(
                atPath: directory + "/kept.p8", contents: Data(try await newKey("P-256").utf8),
                attributes: [.posixPermissions: 0]))
        // Root reads every file, but not without these capabilities.
        let asUser = geteuid() == 0 ? ["/usr/bin/setpriv", "--bounding-set=-dac_override,-dac_read_search"] : []
        let program = try Program(
            asUser + [Program.path, command], directory: directory,
            environment: Self.app.merging(["LAMPLIGHTER_APNS_KEY_FILE": "kept.p8"]) { _, own in own })
        let output = try #require(await program.end(within: .seconds(120)), "it still runs")
        #expect(output.code == code, "\(output.out)\(output.err)")
        #expect((output.out + output.err).contains(words), "\(output.out)\(output.err)")
    }

    @Test func `a wrong secret and an unknown app are told so, and nothing more`() async throws {
        let deployment = try await Deployment.start()
        for other in [["LAMPLIGHTER_APP_MASTER_SECRET": "not-this-one"], ["LAMPLIGHTER_APP_KEY": "nobody"]] {
            let output = try await deployment.run("activity", "order", environment: other)
            #expect(output.code == 1)
            #expect(output.err.contains("does not accept this secret"))
        }
    }

    @Test func `an address in use is named`() async throws {
        let deployment = try await Deployment.start()
        let port = try #require(deployment.gatewayURL.split(separator: ":").last)
        let output = try await deployment.run("serve", "--port", String(port))
        #expect(output.code == 1)
        #expect(output.err.contains("cannot listen on 127.0.0.1:\(port): Address already in use; choose another port"))
    }

    @Test
    func `a certificate of APNs that is not trusted shows in the log, in status and in doctor, and keeps the work`()
        async throws
    {
        let deployment = try await Deployment.start()
        let unaware = ["LAMPLIGHTER_APNS_CA_FILE": ""]
        let worker = try await deployment.worker("unaware", unaware)
        defer { worker.kill() }
        #expect(try await deployment.run("track", "order", Deployment.channel(1), Deployment.token(1)).code == 0)
        let output = try await deployment.run("publish", "order", "--content-state", "{}")
        let push = output.out.trimmingCharacters(in: .whitespacesAndNewlines)
        try await eventually("an alarm names it") {
            let status = try await deployment.run("status").out
            return status.contains("✗ app shop") && status.contains("TLSFailure")
        }
        // The work is kept until the configuration is corrected.
        let ledger = try Ledger(try await deployment.call("GET", "\(deployment.gatewayURL)/api/push/\(push)").text)
        #expect(ledger.addsUp && ledger.state == "sending")
        try await eventually("the log names it") { worker.err.localizedCaseInsensitiveContains("certificate") }
        // A busy machine may take longer than ten seconds for a handshake.
        let patient = ["LAMPLIGHTER_WORKER_REQUEST_TIMEOUT": "120s"]
        let doctor = try await deployment.run("doctor", environment: unaware.merging(patient) { $1 })
        #expect(doctor.code == 78, "\(doctor)")
        #expect(doctor.out.contains("the certificate is not trusted"), "\(doctor)")
        let content = try await deployment.run("doctor", environment: patient)
        #expect(content.code == 0, "\(content)")

        worker.signal(SIGTERM)
        #expect(await worker.end()?.code == 0)
        let aware = try await deployment.worker("aware")
        defer { aware.kill() }
        let ended = try await deployment.run("push", push, "--wait", "--json")
        #expect(try Ledger(ended.out)["delivered"] == 1)
    }
}
