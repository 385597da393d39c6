import Fanout
import Foundation
import HTTPAPI
import Lanes
import TestSupport
import Testing

@testable import Settings

/// One app with only the fields that a gateway needs.
let oneApp = """
    apps:
      - key: shop
        secret: shop-secret
        master_secret: shop-master
        bundle_id: com.example.shop
        apns:
          environment: sandbox
          team_id: ABCDE12345
          key_id: FGHIJ67890
          key_file: AuthKey.p8

    """

func load(
    flags: [String: String] = [:], environment: [String: String] = [:], file: String? = nil
) throws(SettingsError) -> Settings {
    try Settings.load(
        SettingsInput(flags: flags, environment: environment, file: file.map { ("config/lamplighter.yaml", $0) }))
}

/// The error's text. Fails if there is no error.
func refusal(
    flags: [String: String] = [:], environment: [String: String] = [:], file: String? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
) -> String {
    do {
        _ = try load(flags: flags, environment: environment, file: file)
        Issue.record("was accepted", sourceLocation: sourceLocation)
        return ""
    } catch {
        return error.description
    }
}

@Suite("Layers")
struct LayerTests {
    @Test func `with nothing said, everything has its default`() throws {
        let settings = try load()
        #expect("\(settings.redisURL)".contains("127.0.0.1:6379"))
        #expect(settings.redisPrefix == "ll")
        #expect(settings.gateway.port == 8080)
        #expect(settings.gatewayURL == "http://127.0.0.1:8080")
        #expect(settings.gateway.maximumBodyBytes == 1 << 20)
        #expect(settings.worker.claimAfter == .seconds(10))
        #expect(settings.worker.retries.attempts == 0)
        #expect(settings.worker.drainTimeout == .seconds(25))
        #expect(settings.apns.requestTimeout == .seconds(10))
        #expect(settings.log.level == "info" && settings.log.format == .text)
        #expect(settings.apps.isEmpty)
        #expect(settings.warnings.isEmpty)
    }

    @Test func `a flag beats the environment, the environment the file, the file the default`() throws {
        let file = "worker:\n  lanes: 3\n  page: 300\n  claim_after: 30\n"
        let environment = ["LAMPLIGHTER_WORKER_LANES": "4", "LAMPLIGHTER_WORKER_PAGE": "400"]
        let settings = try load(flags: ["worker.lanes": "5"], environment: environment, file: file)
        #expect(settings.apns.lanes == 5)
        #expect(settings.worker.pageSize == 400)
        #expect(settings.worker.claimAfter == .seconds(30))
        #expect(settings.worker.concurrency == 48)
    }

    @Test func `nghttp2 sends until libcurl is chosen`() throws {
        #expect(try load().apns.transport == .nghttp2)
        #expect(try load(file: "worker:\n  transport: libcurl\n").apns.transport == .libcurl)
        #expect(refusal(flags: ["worker.transport": "http2"]).contains("must be one of libcurl, nghttp2"))
        #expect(SettingKey[\.apns.transport].form == .choice(["libcurl", "nghttp2"]))
    }

    @Test func `every key is a variable and a flag by rule, and no two share a name`() {
        #expect(SettingKey[\.worker.drainTimeout].environmentName == "LAMPLIGHTER_WORKER_DRAIN_TIMEOUT")
        #expect(SettingKey[\.worker.drainTimeout].flagName == "worker-drain-timeout")
        #expect(AppField.masterSecret.environmentName == "LAMPLIGHTER_APP_MASTER_SECRET")
        #expect(AppField.caFile.environmentName == "LAMPLIGHTER_APNS_CA_FILE")
        let names = SettingKey.all.map(\.environmentName) + AppField.all.map(\.environmentName)
        #expect(Set(names).count == names.count)
    }

    @Test func `config/lamplighter.yaml lists every setting and no other, and no two set one field`() throws {
        let text = try Repository.text("config/lamplighter.yaml")
        var section = ""
        var listed: Set<String> = []
        for line in text.split(separator: "\n") {
            if let match = line.wholeMatch(of: #/([a-z_]+):/#) { section = String(match.1) }
            if let match = line.wholeMatch(of: #/  ([a-z_]+):/#) { section += ".\(match.1)" }
            if let match = line.wholeMatch(of: #/(  )+# ([a-z_]+): .*/#) { listed.insert("\(section).\(match.2)") }
        }
        #expect(listed.symmetricDifference(SettingKey.all.map(\.path)) == [])
        #expect(Set(SettingKey.all.map(\.field)).count == SettingKey.all.count)
    }

    @Test func `the prune guard's thresholds and retentions`() throws {
        let settings = try load(
            environment: ["LAMPLIGHTER_GUARD_SHARE": "0.25"],
            file: """
                guard: {answers: 50, window: 2m}
                channels: {expire_after: 24h}
                pushes: {expire_after: 72h}
                """)
        #expect(settings.worker.pruneGuard.share == 0.25)
        #expect(settings.worker.pruneGuard.answers == 50)
        #expect(settings.worker.pruneGuard.window == .seconds(120))
        #expect(settings.channelsExpireAfter == .seconds(86_400))
        #expect(settings.pushesExpireAfter == .seconds(3 * 86_400))
        let plain = try load().worker.pruneGuard
        #expect(plain.share == 0.5 && plain.answers == 200 && plain.window == .seconds(600))
    }

    @Test func `PORT is the gateway's port, unless its own variable says another`() throws {
        #expect(try load(environment: ["PORT": "5000"]).gateway.port == 5000)
        let both = ["PORT": "5000", "LAMPLIGHTER_GATEWAY_PORT": "6000"]
        #expect(try load(environment: both).gateway.port == 6000)
        #expect(try load(flags: ["gateway.port": "7000"], environment: both).gateway.port == 7000)
    }

    @Test func `an empty variable and a key without a value are the same as none`() throws {
        let environment = ["LAMPLIGHTER_GATEWAY_PORT": "", "LAMPLIGHTER_APP_KEY": "", "LAMPLIGHTER_APNS_URL": ""]
        let settings = try load(environment: environment, file: "gateway:\n  port:\nredis:\napps:\n")
        #expect(settings.gateway.port == 8080)
        #expect(settings.apps.isEmpty)
    }

    @Test func `commands reach a gateway that listens everywhere through the loopback address`() throws {
        #expect(try load(file: "gateway: {host: 0.0.0.0, port: 81}").gatewayURL == "http://127.0.0.1:81")
        #expect(try load(file: "gateway: {host: '::1', port: 81}").gatewayURL == "http://[::1]:81")
        let given = ["LAMPLIGHTER_GATEWAY_URL": "https://push.example.com/"]
        #expect(try load(environment: given).gatewayURL == "https://push.example.com")
        #expect(try load(environment: given).gateway.publicURL == nil)
        let told = try load(file: "gateway: {public_url: 'https://push.example.com//'}")
        #expect(told.gateway.publicURL == "https://push.example.com" && told.gatewayURL == "http://127.0.0.1:8080")
    }

    @Test(arguments: [("250ms", 0.25), ("2", 2), ("1.5", 1.5), ("3s", 3), ("2m", 120)])
    func `times and sizes are read as people write them`(text: String, seconds: Double) throws {
        let settings = try load(flags: ["worker.request_timeout": text])
        #expect(settings.apns.requestTimeout == .milliseconds(Int64(seconds * 1_000)))
        #expect(try load(flags: ["gateway.max_body": "64K"]).gateway.maximumBodyBytes == 65_536)
    }
}

@Suite("What is refused, with the words that help")
struct RefusalTests {
    @Test(arguments: [
        ("redis:\n  ulr: redis://x\n", ":2: unknown key 'redis.ulr'; did you mean 'redis.url'?"),
        ("gatway:\n  port: 1\n", ":1: unknown key 'gatway'; did you mean 'gateway'?"),
        (
            "worker:\n  lanes: 2\n  clam_after: 10\n",
            ":3: unknown key 'worker.clam_after'; did you mean 'worker.claim_after'?"
        ),
        ("app:\n  - key: x\n", "did you mean 'apps'?"),
        ("apps:\n  - key: shop\n    bundleid: x\n", ":3: unknown key 'bundleid'; did you mean 'bundle_id'?"),
        (
            "apps:\n  - key: shop\n    apns:\n      team: x\n",
            ":4: unknown key 'apns.team'; did you mean 'apns.team_id'?"
        ),
    ])
    func `a misspelt key is an error with its line and the nearest known key`(file: String, words: String) {
        #expect(refusal(file: file).contains(words))
    }

    @Test func `a key like no other gets no suggestion`() {
        let text = refusal(file: "zzzzzzzzzzzz: 1\n")
        #expect(text.contains("unknown key 'zzzzzzzzzzzz'") && !text.contains("did you mean"))
    }

    @Test func `a misspelt variable is a warning with the nearest known one`() throws {
        let settings = try load(environment: ["LAMPLIGHTER_REDIS_ULR": "x", "OTHER": "y"])
        #expect(settings.warnings.count == 1)
        #expect(settings.warnings[0].contains("LAMPLIGHTER_REDIS_ULR"))
        #expect(settings.warnings[0].contains("did you mean LAMPLIGHTER_REDIS_URL?"))
    }

    @Test(arguments: [
        (
            "gateway:\n  port: eighty\n",
            "gateway.port (config/lamplighter.yaml:2) must be a whole number from 0 to 65535, not 'eighty'"
        ),
        ("gateway:\n  port: 65536\n", "gateway.port (config/lamplighter.yaml:2)"),
        ("worker:\n\n  lanes: 0\n", "worker.lanes (config/lamplighter.yaml:3) must be a whole number from 1 to 64"),
        ("worker:\n  lanes: [1, 2]\n", "worker.lanes must be a single value"),
        ("worker: 7\n", "worker must be a section of keys"),
        ("worker:\n  claim_after: -1\n", "worker.claim_after"),
        ("worker:\n  claim_after: 1e3\n", "worker.claim_after"),
        ("worker:\n  drain_timeout: soon\n", "such as 10s or 500ms"),
        ("gateway:\n  max_body: 1G\n", "gateway.max_body"),
        (
            "guard:\n  share: 2\n",
            "guard.share (config/lamplighter.yaml:2) must be a share from 0.01 to 1.0, not '2'"
        ),
        ("guard:\n  window: 10s\n", "guard.window"),
        ("log:\n  level: loud\n", "one of trace, debug, info, notice, warning, error, critical, not 'loud'"),
        ("log:\n  format: xml\n", "one of text, json"),
        ("redis:\n  prefix: 'a b'\n", "redis.prefix"),
        ("redis:\n  wait_replicas: -1\n", "a whole number from 0 to 16"),
        ("gateway:\n  max_queue: 0\n", "a whole number from 1"),
        ("redis:\n  url: ftp://somewhere\n", "redis.url"),
        ("gateway:\n  url: example.com\n", "gateway.url"),
        ("gateway:\n  public_url: push.example.com\n", "gateway.public_url"),
        ("- a\n- b\n", "must be a mapping of sections"),
        ("redis:\n  url: 'x\n", "not valid YAML"),
        ("redis:\n  url: a\n  url: b\n", "twice"),
        ("apps:\n  key: shop\n", "apps must be a list"),
        ("apps:\n  - shop\n", "each app must be a mapping"),
        ("apps:\n  - secret: 12345678\n", "apps[0].key is not set"),
    ])
    func `a wrong value names its key, its place and what would be right`(file: String, words: String) {
        let text = refusal(file: file)
        #expect(text.contains(words), "\(text)")
    }

    @Test func `a wrong flag and a wrong variable are named as what they are`() {
        #expect(refusal(flags: ["worker.lanes": "x"]).contains("worker.lanes (--worker-lanes)"))
        #expect(refusal(environment: ["LAMPLIGHTER_GATEWAY_PORT": "x"]).contains("(LAMPLIGHTER_GATEWAY_PORT)"))
        #expect(refusal(environment: ["LAMPLIGHTER_WORKER_PAGE": "0"]).contains("(LAMPLIGHTER_WORKER_PAGE)"))
    }

    @Test func `all problems are told at once`() {
        let environment = ["LAMPLIGHTER_GATEWAY_PORT": "x"]
        let text = refusal(environment: environment, file: "redis:\n  ulr: 1\nworker:\n  lanes: 0\n")
        #expect(text.split(separator: "\n").count == 3)
    }

    @Test func `a file that was asked for must be there; the default one may be missing`() throws {
        #expect(throws: SettingsError.unreadable(path: "/nowhere/a.yaml", reason: "no such file")) {
            try SettingsInput(flags: [:], environment: [:], config: "/nowhere/a.yaml")
        }
        #expect(throws: SettingsError.unreadable(path: "/tmp", reason: "it is a directory")) {
            try SettingsInput(flags: [:], environment: ["LAMPLIGHTER_CONFIG": "/tmp"], config: nil)
        }
    }

    /// A secret store can print the file: `lamplighter serve --config <(…)`.
    @Test func `the file may be a pipe`() throws {
        let pipe = Pipe()
        let text = "log: {level: debug}\n" + oneApp
        try pipe.fileHandleForWriting.write(contentsOf: Data(text.utf8))
        try pipe.fileHandleForWriting.close()
        let path = "/dev/fd/\(pipe.fileHandleForReading.fileDescriptor)"
        let input = try SettingsInput(flags: [:], environment: [:], config: path)
        #expect(input.file?.text == text)
        let settings = try Settings.load(input)
        #expect(settings.log.level == "debug" && settings.apps.count == 1)
    }

    @Test func `the working directory's file is read before the system's, and a named one before both`() throws {
        let directory = FileManager.default.temporaryDirectory.path + "/lamplighter-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        let (own, system) = (directory + "/own.yaml", directory + "/system.yaml")
        func read(_ environment: [String: String] = [:]) throws -> String? {
            try SettingsInput(flags: [:], environment: environment, config: nil, usual: [own, system]).file?.path
        }
        #expect(try read() == nil)
        try "log:\n".write(toFile: system, atomically: false, encoding: .utf8)
        #expect(try read() == system)
        try "log:\n".write(toFile: own, atomically: false, encoding: .utf8)
        #expect(try read() == own)
        #expect(try read(["LAMPLIGHTER_CONFIG": system]) == system)
        try FileManager.default.removeItem(atPath: own)
        try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: false)
        #expect(throws: SettingsError.unreadable(path: own, reason: "it is a directory")) { try read() }
        #expect(SettingsInput.systemFile == "/etc/lamplighter/lamplighter.yaml")
    }
}
