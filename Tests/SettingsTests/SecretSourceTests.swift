import Foundation
import HTTPAPI
import LiveActivity
import Redis
import Settings
import Testing

/// Secrets and keys come from the environment, a file or standard input. (Of standard input a test of the program
/// tells.)
@Suite("Where secrets come from")
struct SecretSourceTests {
    private static let secrets = [
        ("LAMPLIGHTER_REDIS_URL_FILE", "redis://:hunter2@h"), ("LAMPLIGHTER_MONITOR_SECRET_FILE", "monitor-0123456789"),
        ("LAMPLIGHTER_APP_SECRET_FILE", "secret-0123456789"),
        ("LAMPLIGHTER_APP_MASTER_SECRET_FILE", "master-0123456789"),
    ]

    private func file(_ text: String, _ body: (String) throws -> Void) throws {
        let path = NSTemporaryDirectory() + "secret-\(UUID().uuidString)"
        try text.write(toFile: path, atomically: false, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: path) }
        try body(path)
    }

    @Test func `a variable names the file of each secret`() throws {
        var environment = ["LAMPLIGHTER_APP_KEY": "shop"]
        func fill(_ rest: ArraySlice<(String, String)>) throws {
            guard let (name, text) = rest.first else {
                let settings = try load(environment: environment)
                let app = try settings.app(named: nil)
                #expect(settings.redisURL.holdsPassword && settings.monitorSecret == "monitor-0123456789")
                #expect(app[.secret] == "secret-0123456789" && app[.masterSecret] == "master-0123456789")
                return #expect(settings.warnings.isEmpty, "\(settings.warnings)")
            }
            // An editor ends a file with a line break, and some begin it with a mark.
            try file("\u{FEFF}\(text)\r\n") { path in
                environment[name] = path
                try fill(rest.dropFirst())
            }
        }
        try fill(Self.secrets[...])
    }

    /// `kubectl create secret --from-file` keeps the line break of the file.
    @Test func `white space at the ends of a variable does not count, as in a file`() throws {
        var environment = [
            "LAMPLIGHTER_APP_KEY": "shop\n",
            "LAMPLIGHTER_GATEWAY_PORT": "8081\n", "REDIS_URL": "redis://unused\n",
        ]
        for (name, text) in Self.secrets {
            environment[String(name.dropLast("_FILE".count))] = " \(text)\r\n"
        }
        let settings = try load(environment: environment)
        let app = try settings.app(named: "shop")
        #expect(settings.redisURL.holdsPassword && settings.monitorSecret == "monitor-0123456789")
        #expect(app[.secret] == "secret-0123456789" && app[.masterSecret] == "master-0123456789")
        #expect(settings.gateway.port == 8_081)
        environment["LAMPLIGHTER_REDIS_URL"] = " \n"
        let unset = try load(environment: environment).redisURL
        #expect("\(unset)" == "redis://unused:6379/0", "an empty one counts as unset")
    }

    @Test func `a key of the configuration file does, too, relative to its place`() throws {
        try file("master-0123456789\n") { path in
            let name = URL(fileURLWithPath: path).lastPathComponent
            let place = URL(fileURLWithPath: path).deletingLastPathComponent().path + "/lamplighter.yaml"
            let text = "apps:\n  - key: shop\n    master_secret_file: \(name)\n"
            let settings = try Settings.load(SettingsInput(file: (place, text)))
            #expect(try settings.app(named: nil)[.masterSecret] == "master-0123456789")
        }
    }

    @Test func `a secret that is given twice is refused, and so is one that cannot be read`() throws {
        let twice = refusal(environment: [
            "LAMPLIGHTER_REDIS_URL": "redis://a", "LAMPLIGHTER_REDIS_URL_FILE": "/nowhere",
        ])
        #expect(twice.contains("redis.url_file (LAMPLIGHTER_REDIS_URL_FILE): redis.url is set too"), "\(twice)")
        let app = ["LAMPLIGHTER_APP_KEY": "shop", "LAMPLIGHTER_APP_SECRET_FILE": "/nowhere/secret"]
        let absent = refusal(environment: app)
        #expect(absent.contains("/nowhere/secret cannot be read; put the file there"), "\(absent)")
        try file(" \n") { path in
            let empty = refusal(environment: ["LAMPLIGHTER_MONITOR_SECRET_FILE": path])
            #expect(empty.contains("monitor.secret_file: \(path) is empty"), "\(empty)")
        }
        let both = refusal(file: "apps:\n  - key: shop\n    secret: a-0123456789\n    secret_file: b\n")
        #expect(both.contains("secret is set too: leave one of them"), "\(both)")
    }

    @Test func `the environment beats the file, whichever of the two names each uses`() throws {
        try file("monitor-of-a-file\n") { path in
            let yaml = "monitor: {secret: monitor-of-the-yaml}\n"
            let settings = try load(environment: ["LAMPLIGHTER_MONITOR_SECRET_FILE": path], file: yaml)
            #expect(settings.monitorSecret == "monitor-of-a-file")
        }
    }

    @Test func `the text of a PEM file has a path, which stays while the text does`() throws {
        let pem = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
        let variables = ["LAMPLIGHTER_REDIS_URL": "rediss://h", "LAMPLIGHTER_REDIS_CA": pem]
        let path = try #require(try load(environment: variables).redisTLS.roots)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == pem)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == pem, "each reader begins at its start")
        #expect(try load(environment: variables).redisTLS.roots == path, "a reload sees no change")
        let twice = refusal(environment: variables.merging(["LAMPLIGHTER_REDIS_CA_FILE": "ca.pem"]) { $1 })
        #expect(twice.contains("redis.ca (LAMPLIGHTER_REDIS_CA): redis.ca_file is set too"), "\(twice)")
        let yaml =
            "redis:\n  url: rediss://h\n  ca: |\n    -----BEGIN CERTIFICATE-----\n    MIIB\n    -----END CERTIFICATE-----\n"
        #expect(try load(file: yaml).redisTLS.roots == path)
    }

    @Test func `no error and no description shows the text of a key`() throws {
        let environment = ["LAMPLIGHTER_APP_KEY": "shop", "LAMPLIGHTER_APNS_KEY": "hunter2"]
        let app = try load(environment: environment).app(named: nil)
        #expect(!"\(app)".contains("hunter2"))
        let missing = #expect(throws: SettingsError.self) {
            try load(environment: ["LAMPLIGHTER_APP_KEY": "shop"]).app(named: nil).required(.keyFile)
        }
        #expect(missing?.description.contains("or give its text in LAMPLIGHTER_APNS_KEY") == true)
    }

    @Test(arguments: [
        ("full", true), ("none", true), ("sha256:" + String(repeating: "Ab:", count: 31) + "cd", true),
        ("sha256:" + String(repeating: "0", count: 64) + ", sha256:" + String(repeating: "f", count: 64), true),
        ("sha256:ab", false), (String(repeating: "0", count: 64), false),
        ("sha256:" + String(repeating: "g", count: 64), false),
        ("off", false), ("", true),
    ])
    func `how Redis's certificate is checked`(text: String, isRight: Bool) {
        let variables = ["LAMPLIGHTER_REDIS_URL": "rediss://h", "LAMPLIGHTER_REDIS_VERIFY": text]
        if isRight {
            #expect(throws: Never.self) { try load(environment: variables) }
        } else {
            #expect(
                refusal(environment: variables).contains("redis.verify (LAMPLIGHTER_REDIS_VERIFY) must be full, none"))
        }
    }

    @Test func `a check that would not be made is refused`() {
        let plain = refusal(environment: ["LAMPLIGHTER_REDIS_URL": "redis://h", "LAMPLIGHTER_REDIS_VERIFY": "none"])
        #expect(plain.contains("redis.verify (LAMPLIGHTER_REDIS_VERIFY)") && plain.contains("begin with rediss"))
        let both = refusal(environment: [
            "LAMPLIGHTER_REDIS_URL": "rediss://h", "LAMPLIGHTER_REDIS_VERIFY": "none", "LAMPLIGHTER_REDIS_CA_FILE": "a",
        ])
        #expect(both.contains("redis.verify asks for no CA"))
    }

    @Test(arguments: [
        // Heroku Key-Value Store, Render Key Value (internal and external), Upstash as `fly redis create` sets it.
        "rediss://:p4d9a6a7b9c0@ec2-203-0-113-7.compute-1.amazonaws.com:12345",
        "rediss://h:p4d9a6a7b9c0@ec2-203-0-113-7.compute-1.amazonaws.com:12345",
        "redis://red-abc123def456:6379", "rediss://red-abc123def456:pAss@oregon-keyvalue.render.com:6379",
        "redis://default:0a1b2c3d@fly-lively-dew-4321.upstash.io:6379",
    ])
    func `the addresses that hosting services put into REDIS_URL`(url: String) throws {
        let settings = try load(environment: ["REDIS_URL": url])
        #expect("\(settings.redisURL)".hasPrefix(url.prefix { $0 != ":" } + "://") && settings.warnings.isEmpty)
    }
}
