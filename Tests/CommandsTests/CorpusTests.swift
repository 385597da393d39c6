import Fanout
import Foundation
import HTTPAPI
import LiveActivity
import OpenSSL
import Settings
import Store
import TestSupport
import Testing

@testable import Commands
@testable import Redis

/// Inputs of strangers, each with a part of the text that it must get. The next report is one line more.
@Suite struct CorpusTests {
    // MARK: - Settings

    private static let app = "apps:\n  - key: shop\n    secret: shop-secret\n    bundle_id: com.example.shop\n"

    /// Lines of an app in the file.
    @Test(arguments: [
        ("master_secret: abc12345 #def", "put the value in quotes, or a blank after the #"),
        ("master_secret: &abc12345 def", "begins with & is an anchor: put it in quotes"),
        ("master_secret: *abc12345", "begins with * is an alias: put it in quotes"),
        ("master_secret: !abc12345", "begins with ! is a tag: put it in quotes"),
        ("master_secret: @abc12345", "put the value in quotes"),
        ("master_secret: `abc12345", "put the value in quotes"),
        ("master_secret: abc1: 2345", "put the value in quotes"),
        ("master_secret: %abc12345", "put the value in quotes"),
    ])
    func `a value that YAML reads otherwise is refused`(line: String, words: String) {
        let text = Self.app + "    \(line)\n"
        let error = #expect(throws: SettingsError.self) { try Settings.load(SettingsInput(file: ("a.yaml", text))) }
        #expect(error?.description.contains(words) == true, "\(error?.description ?? "")")
        #expect(error?.description.contains("abc12345") == false, "a secret is shown")
    }

    /// Comments of files as they are.
    @Test(arguments: ["master_secret: abc12345 # rotated in May", "master_secret: 'abc12345#def'", "bundle_id: x #y"])
    func `a comment stays a comment`(line: String) throws {
        let text = "apps:\n  - key: shop\n    \(line)\n"
        #expect(try Settings.load(SettingsInput(file: ("a.yaml", text))).apps.count == 1)
    }

    static let one = [
        "LAMPLIGHTER_APP_KEY": "shop", "LAMPLIGHTER_APP_SECRET": "shop-secret",
        "LAMPLIGHTER_APP_MASTER_SECRET": "shop-master", "LAMPLIGHTER_APP_BUNDLE_ID": "com.example.shop",
    ]

    /// Variables that a platform sets, or that a file of variables holds, and the warning.
    @Test(arguments: [
        (["LAMPLIGHTER_GATEWAY_PORT": "tcp://10.96.0.7:8080"], "enableServiceLinks"),
        (["LAMPLIGHTER_WORKER_PORT": "tcp://10.96.0.7:8080"], "enableServiceLinks"),
        (["LAMPLIGHTER_MONITOR_PORT": "tcp://10.96.0.7:8080"], "enableServiceLinks"),
        (["LAMPLIGHTER_PORT": "udp://10.96.0.7:53"], "enableServiceLinks"),
        (["LAMPLIGHTER_GATEWAY_PORT_8080_TCP_ADDR": "10.96.0.7"], "enableServiceLinks"),
        (["LAMPLIGHTER_GATEWAY_SERVICE_HOST": "10.96.0.7"], "enableServiceLinks"),
        (["LAMPLIGHTER_GATEWAY_SERVICE_PORT_HTTP": "8080"], "enableServiceLinks"),
        (["LAMPLIGHTER_APP_MASTER_SECRET": "\"shop-master-0123456\""], "LAMPLIGHTER_APP_MASTER_SECRET) is in quotes"),
        (["LAMPLIGHTER_APP_SECRET": "'shop-0123456'"], "is in quotes"),
        (["LAMPLIGHTER_WORKER_NAME": "\"one\""], "worker.name (LAMPLIGHTER_WORKER_NAME) is in quotes"),
        (["LAMPLIGHTER_MONITOR_SECRET": "'12345678'"], "monitor.secret (LAMPLIGHTER_MONITOR_SECRET) is in quotes"),
    ])
    func `a variable that is not what it seems is a warning`(variables: [String: String], words: String) throws {
        let settings = try Settings.load(SettingsInput(environment: Self.one.merging(variables) { $1 }))
        #expect(settings.warnings.contains { $0.contains(words) }, "\(settings.warnings)")
        #expect(settings.warnings.count == 1, "\(settings.warnings)")
        #expect(settings.gateway.port == 8080 && settings.monitorPort == nil)
        #expect(!settings.warnings.joined().contains("shop-master-0123456"))
    }

    /// The whole text, or a part of it.
    @Test(arguments: [
        (["LAMPLIGHTER_REDIS_URL": "\"redis://a\""], "begins with a quote"),
        (["LAMPLIGHTER_REDIS_URL": "redis+sentinel://a:26379,b c:26379/main"], "entry 2 of its hosts: the host may"),
        (["LAMPLIGHTER_REDIS_URL": "redis+cluster://a:6379,"], "entry 2 of its hosts: the host is missing"),
        (["LAMPLIGHTER_GATEWAY_PORT": "http"], "gateway.port (LAMPLIGHTER_GATEWAY_PORT) must be a whole number"),
        (["REDIS_URL": "http://a"], "REDIS_URL: redis.url: its scheme is not known"),
    ])
    func `a wrong value names its place`(variables: [String: String], words: String) {
        let error = #expect(throws: SettingsError.self) { try Settings.load(SettingsInput(environment: variables)) }
        #expect(error?.description.contains(words) == true, "\(error?.description ?? "")")
    }

    @Test func `blanks in a list of hosts are nothing`() throws {
        let url = try RedisURL("redis+sentinel://a:26379, b:26379 /main")
        #expect("\(url)" == "redis+sentinel://a:26379,b:26379/main/0")
    }

    @Test func `REDIS_URL counts where nothing else sets redis_url`() throws {
        let common = ["REDIS_URL": "redis://common"]
        func url(_ own: [String: String] = [:], flags: [String: String] = [:], file: String? = nil) throws -> String {
            let input = SettingsInput(
                flags: flags, environment: common.merging(own) { $1 }, file: file.map { ("a.yaml", $0) })
            return "\(try Settings.load(input).redisURL)"
        }
        #expect(try url().contains("//common:6379"))
        #expect(try url(file: "redis:\n  url: redis://file\n").contains("//file:6379"))
        #expect(try url(["LAMPLIGHTER_REDIS_URL": "redis://own"]).contains("//own:6379"))
        #expect(try url(flags: ["redis.url": "redis://flag"]).contains("//flag:6379"))
        #expect(try url(["REDIS_URL": ""]).contains("127.0.0.1"))
    }

    @Test func `a PORT that is no number ends only a gateway`() throws {
        let settings = try Settings.load(SettingsInput(environment: ["PORT": "http"]))
        #expect(settings.gateway.port == 8080)
        #expect(settings.portProblem?.description.contains("(PORT) must be a whole number") == true)
        #expect(try Settings.load(SettingsInput(environment: ["PORT": "5000"])).portProblem == nil)
        let both = ["PORT": "http", "LAMPLIGHTER_GATEWAY_PORT": "5000"]
        #expect(try Settings.load(SettingsInput(environment: both)).portProblem == nil)
    }

    // MARK: - Files

    /// Forms of a key in PEM, each made from its text.
    enum Form: String, CaseIterable, Sendable {
        case written, oneLine, indented, quoted, base64, bodyAlone, der, p12, utf16, zip, gzip, empty, certificate,
            words
        case publicKey, afterText

        func bytes(_ pem: [UInt8]) -> [UInt8] {
            let text = String(decoding: pem, as: UTF8.self)
            let body = text.split(separator: "\n").dropFirst().dropLast().joined()
            func relabelled(_ label: String) -> [UInt8] { Array(text.replacing("PRIVATE KEY", with: label).utf8) }
            switch self {
            case .written: return Array(text.replacing("\n", with: "\\n").utf8)
            case .oneLine: return Array(text.replacing("\n", with: " ").utf8)
            case .indented: return Array(text.split(separator: "\n").map { "   \($0)\n" }.joined().utf8)
            case .quoted: return Array("\"\(text)\"".utf8)
            case .base64: return Array(Data(pem).base64EncodedString(options: .lineLength76Characters).utf8)
            case .bodyAlone: return Array(body.utf8)
            case .der: return Array(Data(base64Encoded: body) ?? Data())
            case .p12: return [0x30, 0x82, 0x04, 0x00, 0x02, 0x01, 0x03, 0x30, 0x82, 0x03, 0xC0] + pem
            case .utf16: return [0xFF, 0xFE] + pem.flatMap { [$0, 0] }
            case .zip: return Array("PK\u{3}\u{4}".utf8) + pem
            case .gzip: return [0x1F, 0x8B, 8, 0] + pem
            case .empty: return Array("\n".utf8)
            case .certificate: return relabelled("CERTIFICATE")
            case .publicKey: return relabelled("PUBLIC KEY")
            case .words: return Array("no key at all\n".utf8)
            case .afterText: return Array("key=\(text)".utf8)
            }
        }
    }

    static func file(_ bytes: [UInt8], _ body: (String) throws -> Void) throws {
        let path = NSTemporaryDirectory() + "corpus-\(UUID().uuidString)"
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        try body(path)
    }

    private static func shop(_ variables: [String: String]) throws -> AppSettings {
        try Settings.load(SettingsInput(environment: one.merging(variables) { $1 })).app(named: nil)
    }

    @Test(
        arguments: [
            (.written, "has \\n as two characters in place of line breaks"), (.oneLine, "is all in one line"),
            (.indented, "is indented"), (.quoted, "is in quotes"), (.base64, "is the base64 of a PEM file"),
            (.bodyAlone, "has no lines -----BEGIN"), (.der, "is DER, not PEM"), (.p12, "is a .p12 file"),
            (.utf16, "is UTF-16 text; save it as UTF-8"), (.zip, "is a zip file"), (.gzip, "is a gzip file"),
            (.empty, "is empty"), (.certificate, "holds a CERTIFICATE and no private key"),
            (.publicKey, "holds a PUBLIC KEY and no private key"), (.words, "holds no PEM block"),
            (.afterText, "has text before -----BEGIN"),
        ] as [(Form, String)])
    func `a key in another form is named`(form: Form, words: String) throws {
        try Self.file(form.bytes(P256SigningKey.generatePEM())) { path in
            let app = try Self.shop([
                "LAMPLIGHTER_APNS_KEY_FILE": path, "LAMPLIGHTER_APNS_KEY_ID": "FGHIJ67890",
                "LAMPLIGHTER_APNS_TEAM_ID": "ABCDE12345",
            ])
            let error = #expect(throws: SettingsError.self) { try ProviderKeyFile(app) }
            let text = error?.description ?? ""
            #expect(text.hasPrefix("apns.key_file of app 'shop': \(path) \(words)"), "\(text)")
            #expect(text.contains("; ") && !text.contains("is not set"), "\(text)")
        }
    }

    @Test(arguments: [Form.written, .oneLine, .indented, .quoted, .base64])
    func `a key in a variable is read as it is, and in each form that a tool makes of it`(form: Form) throws {
        let pem = try P256SigningKey.generatePEM()
        let expected = try P256SigningKey(pem: pem).fingerprint()
        for bytes in [pem, form.bytes(pem), Array("'".utf8) + form.bytes(pem) + Array("'\n".utf8)] {
            let text = String(decoding: bytes, as: UTF8.self)
            let app = try Self.shop(["LAMPLIGHTER_APNS_KEY": text])
            #expect(try ProviderKeyFile(app).key.fingerprint() == expected)
            #expect(ProviderKeyFile.exposure(try app.required(.keyFile)) == nil)
        }
        if form == .base64 { return }
        let base64 = Data(form.bytes(pem)).base64EncodedString()
        #expect(try ProviderKeyFile(Self.shop(["LAMPLIGHTER_APNS_KEY": base64])).key.fingerprint() == expected)
    }

    @Test(
        arguments: [
            (.certificate, "its text holds a CERTIFICATE and no private key"), (.words, "its text holds no PEM block"),
            (.bodyAlone, "its text has no lines -----BEGIN"),
        ] as [(Form, String)])
    func `a text that is no key is named`(form: Form, words: String) throws {
        let text = String(decoding: form.bytes(try P256SigningKey.generatePEM()), as: UTF8.self)
        let error = #expect(throws: SettingsError.self) {
            try ProviderKeyFile(Self.shop(["LAMPLIGHTER_APNS_KEY": text]))
        }
        #expect(
            error?.description.contains("apns.key_file of app 'shop': \(words)") == true, "\(error?.description ?? "")")
    }

    @Test func `a gateway starts without an APNs key that only workers have, and says so`() throws {
        let log = LogLines()
        let gone = ["LAMPLIGHTER_APP_BUNDLE_ID": "com.example.shop", "LAMPLIGHTER_APNS_KEY_FILE": "/nowhere/key.p8"]
        let settings = try Settings.load(SettingsInput(environment: Self.one.merging(gone) { $1 }))
        #expect(try ServeCommand.configuration(settings, log.logger).apps.count == 1)
        #expect(
            log.all.contains {
                $0.hasPrefix("warning an APNs key is not on this machine") && $0.contains("/nowhere/key.p8")
            })
        #expect(throws: SettingsError.self) { try ProviderKeyFile(try settings.app(named: nil)) }
    }

    @Test(arguments: ["\u{FEFF}", "\n\n", "Bag Attributes\n    friendlyName: x\n"])
    func `what stands before a key does not matter`(prefix: String) throws {
        try Self.file(Array(prefix.utf8) + P256SigningKey.generatePEM()) { path in
            _ = try ProviderKeyFile(try Self.shop(["LAMPLIGHTER_APNS_KEY_FILE": path]))
        }
    }

    @Test(arguments: [
        ("-----BEGIN PRIVATE KEY-----\nMIG\n-----END PRIVATE KEY-----\n", "holds a PRIVATE KEY and no certificate"),
        ("-----BEGIN CERTIFICATE-----\nMIG\n-----END CERTIFICATE-----\n", "holds no certificate that can be read"),
        ("-----BEGIN CERTIFICATE-----\\nMIG\\n-----END CERTIFICATE-----\\n", "has \\n as two characters"),
        ("\u{FEFF}-----BEGIN CERTIFICATE-----\nMIG\n-----END CERTIFICATE-----\n", "begins with a byte order mark"),
        ("", "is empty"),
    ])
    func `a file of roots in another form is named`(text: String, words: String) throws {
        try Self.file(Array(text.utf8)) { path in
            let app = try Self.shop(["LAMPLIGHTER_APNS_CA_FILE": path])
            let error = #expect(throws: SettingsError.self) { try app.checkCertificates() }
            #expect(
                error?.description.contains("apns.ca_file of app 'shop': \(path) \(words)") == true,
                "\(error?.description ?? "")")
            let redis = try Settings.load(
                SettingsInput(environment: [
                    "LAMPLIGHTER_REDIS_URL": "rediss://a", "LAMPLIGHTER_REDIS_CA_FILE": path,
                ]))
            let other = #expect(throws: SettingsError.self) { try redis.checkRedisFiles() }
            #expect(
                other?.description.contains("redis.ca_file: \(path) \(words)") == true, "\(other?.description ?? "")")
        }
    }

    @Test(
        arguments: [
            (Array("\u{FEFF}channel,token\r\nk1,aa01\r\n".utf8), nil), (Array("channel,token\nk1,aa01\n".utf8), nil),
            (Array("\u{FEFF}{\"channel\":\"k1\",\"token\":\"aa01\"}\n".utf8), nil),
            ([0xFF, 0xFE, 0x63, 0, 0x68, 0], "UTF-16 text; save it as UTF-8"),
            (Array("PK\u{3}\u{4}xx".utf8), "a zip file"),
            ([0x1F, 0x8B, 8, 0, 0, 0, 0, 0], "a gzip file"), ([0x63, 0, 0, 1, 2, 200, 7, 8, 9], "a binary file"),
        ] as [([UInt8], String?)])
    func `a file to import is read, or its form is named`(bytes: [UInt8], words: String?) throws {
        try Self.file(bytes) { path in
            do {
                let source = try ImportSource(path: path, format: nil, form: .followers)
                let text = String(decoding: try source.next(), as: UTF8.self)
                #expect(words == nil && text == "{\"channel\":\"k1\",\"token\":\"aa01\"}\n", "\(text)")
            } catch let failure as CommandFailure {
                #expect(words.map { failure.message.contains(path) && failure.message.contains($0) } == true)
            }
        }
    }

    @Test func `an upload is as long as the file was at its beginning`() throws {
        let line = Array("{\"channel\":\"k1\",\"token\":\"aa01\"}\n".utf8)
        let lines = Array(repeatElement(line, count: 20_000).joined())
        func upload(_ bytes: [UInt8], lengthMeanwhile: Int? = nil) throws -> (length: Int?, sent: Int) {
            var (length, sent): (Int?, Int) = (nil, 0)
            try Self.file(bytes) { path in
                let source = try ImportSource(path: path, format: nil, form: .followers)
                length = source.length
                if let lengthMeanwhile { truncate(path, lengthMeanwhile) }
                while case let piece = try source.next(), !piece.isEmpty { sent += piece.count }
            }
            return (length, sent)
        }
        for meanwhile in [nil, lines.count, lines.count + 9] {
            #expect(try upload(lines, lengthMeanwhile: meanwhile) == (lines.count, lines.count))
        }
        #expect(try upload(Array("\u{FEFF}".utf8) + line) == (line.count, line.count))
        #expect(try upload([]) == (nil, 0))
        #expect(try upload(Array("channel,token\nk1,aa01\n".utf8)) == (nil, line.count))
        let failure = #expect(throws: CommandFailure.self) { try upload(lines, lengthMeanwhile: 300_000) }
        #expect(failure?.message.contains("shorter") == true)
    }

    @Test(
        arguments: [
            (Array("\u{FEFF}gateway:\n  port: 9000\n".utf8), nil),
            ([0xFF, 0xFE, 0x61, 0], "UTF-16 text; save it as UTF-8"),
            ([0x1F, 0x8B, 8, 0], "a gzip file"), ([0xC3], "not UTF-8 text"),
        ] as [([UInt8], String?)])
    func `a configuration file in another form is named`(bytes: [UInt8], words: String?) throws {
        try Self.file(bytes) { path in
            do throws(SettingsError) {
                let input = try SettingsInput(flags: [:], environment: [:], config: path)
                #expect(try Settings.load(input).gateway.port == 9000 && words == nil)
            } catch {
                #expect(words.map { error.description.contains($0) && error.description.contains(path) } == true)
            }
        }
    }

    // MARK: - What stands before a gateway

    /// Load balancers close an idle connection after 60 s, supervisors kill after 30 s.
    @Test func `no default equals that of the other side`() throws {
        let settings = try Settings.load(SettingsInput(environment: Self.one))
        #expect(settings.gateway.idleTimeout > .seconds(65))
        #expect(settings.worker.drainTimeout < .seconds(28))
    }

    private static let page = "<html><head><title>Request Entity Too Large</title></head></html>"

    @Test(arguments: [
        (413, page, nil, "nginx needs client_max_body_size 0 for bulk calls"),
        (413, "", nil, "something between here and the gateway"),
        (413, #"{"ok":false,"error":"the body is too large"}"#, nil, "gateway refused (413): the body is too large"),
        (502, page, nil, "the gateway cannot serve now: HTTP 502"),
        (503, #"{"ok":false,"error":"Redis is away"}"#, "2", "Redis is away (try again in 2 s)"),
        (503, #"{"ok":false,"error":"away"}"#, "Wed, 21 Oct 2015 07:28:00 GMT", "away (try again in 0 s)"),
        (200, page, nil, "the answer (200) is not the gateway's"),
        (401, #"{"ok":false,"error":"Unauthorized"}"#, nil, "does not accept this secret for app 'shop'"),
        (401, page, nil, "the answer (401) is not the gateway's: a proxy or another server"),
        (301, "", nil, "the answer (301) is not the gateway's"),
    ])
    func `an answer of a proxy is not the gateway's`(status: Int, body: String, retryAfter: String?, words: String) {
        let failure = GatewayClient.refusal(status, Array(body.utf8), retryAfter: retryAfter, key: "shop")
        #expect(failure.message.contains(words), "\(failure)")
    }

    // MARK: - Redis

    /// Answers of servers, in the words of each version and service.
    @Test(arguments: [
        ("NOPERM this user has no permissions to run the 'multi' command or its subcommand", "NOPERM"),
        ("NOPERM User lamp has no permissions to run the 'multi' command", "NOPERM"),
        ("NOPERM No permissions to access a key", "NOPERM"),
        (
            "ERR The user executing the script can't run this command or subcommand script: x, on @user_script:1.",
            "NOPERM"
        ),
        (
            "ERR Error running script (call to f_1): @user_script:1: The user executing the script can't run this command "
                + "or subcommand", "NOPERM"
        ),
        ("ERR The user executing the script can't access at least one of the keys mentioned in the command", "NOPERM"),
        ("ERR ACL failure in script: User lamp has no permissions to run the 'time' command", "NOPERM"),
        ("ERR unknown command 'EVAL', with args beginning with: 'secret'", "UNSUPPORTED"),
        ("ERR unknown command `XAUTOCLAIM`, with args beginning with: `ll:`", "UNSUPPORTED"),
        ("ERR Unknown Redis command called from script script: x", "UNSUPPORTED"),
        ("ERR Unknown subcommand or wrong number of arguments for 'UNBLOCK'. Try CLIENT HELP.", "UNSUPPORTED"),
        ("ERR This Redis command is not allowed from script", "UNSUPPORTED"),
        ("ERR script tried accessing undeclared key", "UNSUPPORTED"),
        ("ERR Command is not available: 'CONFIG'.", "UNSUPPORTED"), ("ERR BLOCK is not supported", "UNSUPPORTED"),
        ("NOAUTH Authentication required.", "NOAUTH"), ("WRONGPASS invalid username-password pair", "WRONGPASS"),
        ("OOM command not allowed when used memory > 'maxmemory'.", "OOM"), ("ERR syntax error", "ERR"),
    ])
    func `an answer counts by what it means`(answer: String, code: String) {
        let error = RedisError(reply: answer)
        guard case .server(code, _) = error else {
            Issue.record("\(error)")
            return
        }
        #expect(!error.description.contains("secret"))
        let failure = CommandFailure(error)
        let refusals: Set = ["NOPERM", "UNSUPPORTED", "NOAUTH", "WRONGPASS"]
        #expect(failure.status == (refusals.contains(code) ? .configuration : .failed), "\(failure.message)")
        #expect(code == "ERR" || error.remedy != nil)
    }
}
