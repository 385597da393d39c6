import APNsClient
import OpenSSL
import Settings
import Store
import Testing

@testable import Commands
@testable import Redis

/// Each error that an operator can meet says what is wrong, where, and what to do. The switches have no default, so a
/// new kind of error does not compile before it stands here.
@Suite struct ErrorWordsTests {
    struct Sample: Sendable {
        var kind: String
        var text: String
        var what: String
        var place: String
        var remedy: String
    }

    private static func check(_ samples: [Sample], _ kinds: [String]) {
        #expect(Set(samples.map(\.kind)) == Set(kinds))
        for sample in samples {
            for part in [sample.what, sample.place, sample.remedy] {
                #expect(sample.text.contains(part), "\(sample.kind): '\(part)' in '\(sample.text)'")
            }
            #expect(!sample.text.contains("Optional("), "\(sample.text)")
        }
    }

    private static func kind(_ error: SettingsError) -> String {
        switch error {
        case .unreadable: "unreadable"
        case .malformed: "malformed"
        case .unknownKey: "unknownKey"
        case .invalid: "invalid"
        case .missing: "missing"
        case .conflict: "conflict"
        case .unusable: "unusable"
        case .file: "file"
        case .several: "several"
        }
    }

    /// The error of a file with these lines, or of these variables.
    private static func refusal(_ text: String, _ environment: [String: String] = [:]) -> SettingsError {
        do throws(SettingsError) {
            _ = try Settings.load(SettingsInput(environment: environment, file: ("a.yaml", text))).ofWorker()
        } catch { return error }
        Issue.record("is accepted: \(text)")
        return .several([])
    }

    private static func settings(_ error: SettingsError, what: String, place: String, remedy: String) -> Sample {
        Sample(kind: kind(error), text: error.description, what: what, place: place, remedy: remedy)
    }

    @Test func `errors of settings`() throws {
        let app = "apps:\n  - key: shop\n    secret: shop-secret\n"
        let absent = #expect(throws: SettingsError.self) {
            try SettingsInput(flags: [:], environment: [:], config: "absent.yaml")
        }
        let file = NamedFile(setting: "redis.ca_file", path: "/nowhere/ca.pem")
        let unread = #expect(throws: SettingsError.self) { try file.check(.certificate) }
        Self.check(
            [
                Self.settings(
                    try #require(absent), what: "no such file", place: "absent.yaml", remedy: "LAMPLIGHTER_CONFIG"),
                Self.settings(
                    Self.refusal("redis:\n  url: @x\n"), what: "not valid YAML", place: "a.yaml:2", remedy: "in quotes"),
                Self.settings(
                    Self.refusal("reddis:\n"), what: "unknown key 'reddis'", place: "a.yaml:1",
                    remedy: "did you mean 'redis'"),
                Self.settings(
                    Self.refusal("zzzzzzzzzzzz: 1\n"), what: "unknown key", place: "a.yaml:1",
                    remedy: "config/lamplighter.yaml lists every key"),
                Self.settings(
                    Self.refusal("gateway:\n  port: x\n"), what: "not 'x'", place: "gateway.port (a.yaml:2)",
                    remedy: "must be a whole number"),
                Self.settings(
                    Self.refusal(""), what: "apps is not set", place: "apps", remedy: "list an app under 'apps:'"),
                Self.settings(
                    Self.refusal(app + "    master_secret: shop-secret\n"), what: "must differ from",
                    place: "apps[0].master_secret (a.yaml:4)", remedy: "differ"),
                Self.settings(
                    Self.refusal(app, ["LAMPLIGHTER_WORKER_APPS": "shp"]), what: "there is no app 'shp'",
                    place: "worker.apps", remedy: "the apps are shop"),
                Self.settings(
                    try #require(unread), what: "does not exist", place: "redis.ca_file: /nowhere/ca.pem",
                    remedy: "correct the path"),
                Self.settings(
                    Self.refusal("gateway:\n  port: x\nreddis:\n"), what: "must be a whole number", place: "a.yaml:3",
                    remedy: "did you mean"),
            ],
            ["unreadable", "malformed", "unknownKey", "invalid", "missing", "conflict", "unusable", "file", "several"])
    }

    private static func kind(_ error: RedisError) -> String {
        switch error {
        case .unreachable: "unreachable"
        case .insecure: "insecure"
        case .lost: "lost"
        case .server(let code, _): code
        case .unexpectedReply: "unexpectedReply"
        // A fault of Lamplighter, and the end of a process: nobody can do anything.
        case .unroutable: "unroutable"
        case .closed: "closed"
        }
    }

    private static func redis(_ error: RedisError, what: String, place: String = "Redis", remedy: String) -> Sample {
        Sample(kind: kind(error), text: CommandFailure(error).message, what: what, place: place, remedy: remedy)
    }

    @Test func `errors of Redis, of a cluster and of TLS`() {
        var insecure = RedisError.closed
        if case .insecure(let why, let remedy) = LinkFailure(.certificate(.unknownIssuer, "unknown"), RedisTLSFiles()) {
            insecure = .insecure("rediss://a:6379/0: \(why)", remedy: remedy)
        }
        let moved = Redirection.unusable(
            RedisError(reply: "MOVED 42 ?:6379"), from: .tcp(host: "10.0.0.1", port: 7_000))
        let words = [
            ("NOAUTH Authentication required.", "redis://user:password@host"), ("WRONGPASS invalid pair", "ACL LIST"),
            ("NOPERM no permissions", "ACL LOG"), ("ERR unknown command 'EVAL'", "Redis 6.2 or later"),
            ("LOADING Redis is loading", "wait"), ("OOM command not allowed", "raise maxmemory"),
            ("READONLY You can't write", "point redis.url at the primary"), ("MASTERDOWN Link down", "primary"),
            ("WRONGTYPE Operation", "shared with another program"), ("MISCONF Redis is configured", "its disk"),
            ("NOREPLICAS Not enough", "bring them back"), ("CLUSTERDOWN Hash slot not served", "--cluster check"),
            ("TRYAGAIN Multiple keys", "wait"), ("MOVED 1 a:1", "redis+cluster://"),
            ("NOCLUSTER a:1 is a single server", "redis:// for a single server"), ("NOPROTO unsupported", "RESP2"),
        ]
        var samples: [Sample] = words.map { reply, remedy in
            Self.redis(RedisError(reply: reply), what: String(reply.prefix { $0 != "," }), remedy: remedy)
        }
        samples += [
            Self.redis(
                .unreachable("redis://a:6379/0: connection refused"), what: "connection refused",
                place: "redis://a:6379", remedy: "check redis.url"),
            Self.redis(insecure, what: "unknown", place: "rediss://a:6379", remedy: "redis.ca_file"),
            Self.redis(.lost("reset"), what: "reset", remedy: "look at Redis's log"),
            Self.redis(.unexpectedReply("HTTP"), what: "HTTP", remedy: "check that redis.url leads to Redis"),
            Self.redis(
                moved ?? .closed, what: "no address that can be used", place: "10.0.0.1:7000",
                remedy: "cluster-announce-ip"),
        ]
        let kinds: [String] = words.map { Self.kind(RedisError(reply: $0.0)) }
        Self.check(samples, kinds + ["unreachable", "insecure", "lost", "unexpectedReply", "NOADDRESS"])
    }

    private static func kind(_ error: TLSError) -> String {
        switch error {
        case .setup: "setup"
        case .certificate(let fault, _): "certificate \(fault)"
        case .clientCertificate: "clientCertificate"
        case .notTLS: "notTLS"
        case .handshake: "handshake"
        // Becomes a lost connection.
        case .lost: "lost"
        }
    }

    @Test func `each fault of TLS has a remedy of its own`() {
        let faults: [(TLSError, String)] = [
            (.setup("x"), "redis.key_file"), (.certificate(.unknownIssuer, "x"), "redis.ca_file"),
            (.certificate(.expired, "x"), "valid now"), (.certificate(.wrongHost, "x"), "name the server"),
            (.certificate(.other, "x"), "another certificate"), (.clientCertificate("x"), "redis.cert_file"),
            (.notTLS, "redis.url is redis://"), (.handshake("x"), "TLS 1.2"),
        ]
        #expect(Set(faults.map { Self.kind($0.0) }).count == faults.count)
        for (error, words) in faults {
            guard case .insecure(let text, let remedy) = LinkFailure(error, RedisTLSFiles()) else {
                Issue.record("\(error)")
                continue
            }
            #expect(!text.isEmpty && remedy.contains(words), "\(remedy)")
        }
    }

    /// Errors without anything to correct in the settings say what was found. `restore` adds how far it came.
    @Test func `errors of keys, of backups and of the data`() throws {
        let keys: [(SigningKeyError, String, String)] = [
            (.unreadable("it is empty"), "it is empty", "expected the .p8 file"),
            (.notP256("P-384"), "P-384", "expected the .p8 file"),
        ]
        for (error, what, remedy) in keys {
            #expect(error.description.contains(what) && error.description.contains(remedy))
            let client = APNsClientError.key(error)
            #expect(client.description.contains("key_file") && CommandFailure(client)?.status == .configuration)
        }
        let stored = try #require(CommandFailure(StoreError.corrupt("a push")))
        #expect(stored.message.contains("a push") && stored.message.contains("redis.prefix"))
        let overtaken = try #require(CommandFailure(StoreError.overtaken))
        #expect(overtaken.message.contains("try again") && overtaken.status == .failed)
        for (found, remedy) in [(4, "install that version"), (2, "make a backup with that version")] {
            let other = try #require(CommandFailure(StoreError.otherFormat(found, known: 3)))
            #expect(other.message.contains(remedy) && other.status == .configuration)
        }
    }
}
