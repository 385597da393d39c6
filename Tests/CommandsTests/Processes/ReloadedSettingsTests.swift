import LiveActivity
import Logging
import Redis
import Synchronization
import TestSupport
import Testing
import Threads

@testable import Commands
@testable import Fanout
@testable import HTTPAPI
@testable import Settings
@testable import Store

/// Changes each setting through a reload of a gateway and of a worker, and looks at what the process uses then. So no
/// setting is called live that a reload does not apply, and none has an effect that needs a restart.
@Suite(.serialized) struct ReloadedSettingsTests {
    @Test(arguments: [SettingsChange.Process.gateway, .worker])
    func `a reload applies every live setting, and no other`(_ kind: SettingsChange.Process) async throws {
        try await Running.with(kind) { running in
            for key in SettingKey.all {
                let before = running.uses()
                let told = try await running.reload(Self.values(key, running.certificate), [:])
                if key.live.contains(kind) {
                    #expect(running.uses() != before, "\(key.path) has no effect")
                    #expect(told.contains(key.path), "\(key.path) is not told: \(told)")
                } else {
                    #expect(running.uses() == before, "\(key.path) has an effect before the restart")
                    #expect(!told.contains(key.path), "\(key.path) is told: \(told)")
                }
                _ = try await running.reload([:], [:])
                #expect(running.uses() == before, "\(key.path) does not go back")
            }
        }
    }

    @Test(arguments: [SettingsChange.Process.gateway, .worker])
    func `a reload applies every live field of an app that the process uses, and no other`(
        _ kind: SettingsChange.Process
    ) async throws {
        try await Running.with(kind) { running in
            let app = try #require(try running.load().apps.first)
            for (field, values) in Self.fields {
                let before = running.uses()
                let told = try await running.reload([:], values)
                let next = try #require(try running.load().apps.first)
                let isApplied = field.isUsed(by: kind, from: app, to: next) && field.isLive(app, next)
                #expect((running.uses() != before) == isApplied, "\(field): \(told)")
                #expect(told.contains("shop: \(field.path)") == isApplied, "\(field): \(told)")
                _ = try await running.reload([:], [:])
                #expect(running.uses() == before, "\(field) does not go back")
            }
        }
    }

    @Test func `every live field of an app is tried here`() throws {
        let app = try #require(try Running.settings(.worker, [:], Running.environment("key.p8")).apps.first)
        let live = AppField.all.filter { $0.isLive(app, app) }
        #expect(Set(live).subtracting(Self.fields.keys) == Self.ofStories.union(Self.ofStoriesOfFeatures))
    }

    // MARK: Values

    /// Another value than the default, with those that it needs beside it.
    private static func values(
        _ key: SettingKey, _ certificate: TestAuthority.Identity
    ) throws -> [String: String] {
        let tls = ["redis.url": "rediss://127.0.0.1:1/0"]
        let pairs = ["redis.cert_file": "redis.key_file", "redis.key_file": "redis.cert_file"]
        switch key.path {
        case "redis.ca_file": return tls.merging([key.path: "/ca.pem"]) { $1 }
        case "redis.cert_file", "redis.key_file":
            return tls.merging([key.path: "/file.pem", pairs[key.path] ?? "": "/file.pem"]) { $1 }
        case "redis.verify": return tls.merging([key.path: "none"]) { $1 }
        case "gateway.cert_file", "gateway.key_file":
            return ["gateway.cert_file": certificate.certificateFile, "gateway.key_file": certificate.keyFile]
        default: break
        }
        if let text = texts[key.path] {
            // Settings that need each other change together.
            return texts.filter { key.needs.paths.contains($0.key) }.merging([key.path: text]) { $1 }
        }
        switch key.form {
        case .whole(let range): return [key.path: "\(range.lowerBound + (key.defaultText == "3" ? 3 : 2))"]
        case .size(let range): return [key.path: "\(range.lowerBound)"]
        case .seconds(let range): return [key.path: "\(range.lowerBound + 2)"]
        case .share: return [key.path: "0.25"]
        case .choice(let words): return [key.path: try #require(words.first { $0 != key.defaultText })]
        case .text: return [key.path: "another"]
        }
    }

    private static let texts = [
        "redis.url": "redis://127.0.0.1:1/0", "redis.prefix": "other", "gateway.host": "localhost",
        "gateway.ca_file": "/ca.pem", "gateway.url": "http://other.example.com",
        "gateway.public_url": "https://live.example.com", "gateway.trusted_proxies": "10.1.2.3",
        "gateway.server_addresses": "10.0.0.0/8", "monitor.host": "localhost", "monitor.secret": "the-monitor-secret",
        "worker.name": "another", "worker.apps": "shop", "worker.host": "localhost",
        "traces.endpoint": "http://collector:4318", "traces.headers": "x-key=another", "traces.ca_file": "/ca.pem",
    ].merging(textsOfFeatures.joined()) { own, _ in own }

    /// Another value of an app's field, with those that it needs beside it.
    private static let fields: [AppField: [AppField: String]] = [
        .secret: [.secret: "another-app-secret"], .masterSecret: [.masterSecret: "another-master-secret"],
        .staleAfter: [.staleAfter: "9"], .endAfter: [.endAfter: "9"], .catchUp: [.catchUp: "true"],
        .receipts: [.receipts: "true"], .respectDismissal: [.respectDismissal: "true"],
        .deviceTags: [.deviceTags: "false"],
        .deviceUsers: [.deviceUsers: "false"],
        .expiryStart: [.expiryStart: "9"], .expiryUpdate: [.expiryUpdate: "9"], .expiryEnd: [.expiryEnd: "9"],
        .maximumPerSecond: [.maximumPerSecond: "9"], .maximumPerSecondOfPush: [.maximumPerSecondOfPush: "9"],
        .bundleID: [.bundleID: "com.example.other"], .environment: [.environment: "sandbox"],
        .manageURL: [.manageURL: "https://manage.example.com"],
    ].merging(fieldsOfFeatures.joined()) { own, _ in own }
    /// Keys and secrets, whose effect `ReloadStoryTests` and `APNsKeyRing`'s tests see: no value of them can be shown.
    private static let ofStories: Set<AppField> = [
        .keyID, .keyFile, .nextKeyID, .nextKeyFile, .teamID,
    ]
}

/// The part of a feature in the worker of these tests.
struct PartOnTrial: Sendable {
    /// The settings that the app needs beside the field.
    let values: [AppField: String]
    /// Makes it with the settings of the start, and tells the values that it uses.
    let make: @Sendable (Settings) throws -> (WorkerPart, uses: @Sendable () -> [any Sendable])
}

/// A gateway or a worker with its `Reloading`, as `Boot` makes them.
private final class Running: Sendable {
    let certificate: TestAuthority.Identity
    private let given = Mutex<(flags: [String: String], environment: [String: String])>(([:], [:]))
    private let kind: SettingsChange.Process
    private let base: [String: String]
    private let log = LogLines()
    private let signals = AsyncStream<Void>.makeStream()
    /// All that the process uses of its settings, as text.
    let uses: @Sendable () -> String

    static func environment(_ keyFile: String) -> [String: String] {
        let values: [AppField: String] = [
            .key: "shop", .secret: "the-app-secret-0001", .masterSecret: "the-master-secret-01",
            .bundleID: "com.example.shop", .teamID: "TEAM123456", .keyID: "KEYKEY1234", .keyFile: keyFile,
        ]
        let all = PartOnTrial.ofFeatures.reduce(into: values) { $0.merge($1.values) { $1 } }
        return Dictionary(uniqueKeysWithValues: all.map { ($0.key.environmentName, $0.value) })
    }

    static func settings(
        _ kind: SettingsChange.Process, _ flags: [String: String], _ environment: [String: String]
    ) throws -> Settings {
        let settings = try Settings.load(SettingsInput(flags: flags, environment: environment))
        return kind == .worker ? try settings.ofWorker() : settings
    }

    static func with(_ kind: SettingsChange.Process, _ body: (Running) async throws -> Void) async throws {
        let server = try await RedisServer.start()
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        try directory.write("key.p8", Array(try await newKey("P-256").utf8))
        let client = RedisClient(url: server.url, scripts: Store.scripts, logger: .quiet)
        let environment = environment(directory.path("key.p8"))
        let settings = try settings(kind, [:], environment)
        let store = Store(settings, redis: client, answersPublishers: kind == .gateway)
        let (reload, uses) = try kind == .gateway ? gateway(settings, store) : worker(settings, store)
        let running = Running(kind, environment, try TestAuthority().issue("gateway"), uses)
        let level = LiveLogLevel.process.current
        defer { LiveLogLevel.process.replace(with: level) }
        let reloading = Reloading(
            process: kind, load: { try running.load() }, apply: reload, files: { _ in [] }, watched: WatchedFiles([]),
            hangUps: running.signals.stream, requests: store.reloads, name: "one", started: settings,
            logger: running.log.logger)
        let task = Task { try await reloading.run() }
        try await body(running)
        task.cancel()
        try await task.value
        await client.close()
    }

    private typealias Parts = (reload: @Sendable (Settings) throws -> Void, uses: @Sendable () -> String)

    private static func gateway(_ settings: Settings, _ store: Store) throws -> Parts {
        let gateway = Gateway(try ServeCommand.configuration(settings, .quiet), store: store, logger: .quiet)
        return (
            { try ServeCommand.reload(gateway, store, $0, .quiet) },
            {
                let served = gateway.live.current
                let limits = [served.parts, served.partsOfApps].map { parts in
                    [canonical(parts.store.registry.quotas.limits), canonical(parts.store.channels.quotas.limits)]
                }
                return "\(canonical(served.configuration)) \(limits) \(LiveLogLevel.process.current)"
            }
        )
    }

    private static func worker(_ settings: Settings, _ store: Store) throws -> Parts {
        let worker = Worker(store: store, apps: [], options: settings.worker, logger: .quiet)
        let parts = try PartOnTrial.ofFeatures.map { try $0.make(settings) }
        let reload = WorkerReload(
            keys: Dictionary(uniqueKeysWithValues: try settings.apps.map { ($0.key, try WorkerReload.keys($0)) }),
            parts: parts.map(\.0), worker: worker)
        return (
            reload.apply,
            {
                let uses = parts.map { $0.uses().map(canonical) }
                return "\(canonical(worker.options.current)) \(uses) \(LiveLogLevel.process.current)"
            }
        )
    }

    private init(
        _ kind: SettingsChange.Process, _ environment: [String: String], _ certificate: TestAuthority.Identity,
        _ uses: @escaping @Sendable () -> String
    ) {
        self.kind = kind
        base = environment
        self.certificate = certificate
        self.uses = uses
    }

    func load() throws -> Settings {
        let (flags, environment) = given.withLock { $0 }
        return try Self.settings(kind, flags, base.merging(environment) { $1 })
    }

    /// Reloads with other values.
    /// - Returns: the settings that the process says it has changed
    func reload(_ flags: [String: String], _ fields: [AppField: String]) async throws -> String {
        let environment = Dictionary(uniqueKeysWithValues: fields.map { ($0.key.environmentName, $0.value) })
        given.withLock { $0 = (flags, environment) }
        let before = answers.count
        signals.continuation.yield()
        try await eventually("a reload with \(flags)\(fields)", every: .milliseconds(1)) { answers.count > before }
        let answer = try #require(answers.last)
        #expect(answer.contains("read again"), "\(answer)")
        let changed = answer.firstRange(of: "changed=").map { answer[$0.upperBound...] } ?? ""
        return String(changed.prefix { $0 != "=" })
    }

    private var answers: [String] {
        log.all.filter { $0.contains("configuration read again") || $0.contains("is not usable") }
    }
}

/// A value as text, with the entries of dictionaries and sets in order.
private func canonical(_ value: Any) -> String {
    let mirror = Mirror(reflecting: value)
    var parts = mirror.children.map { child in (child.label.map { "\($0): " } ?? "") + canonical(child.value) }
    guard !parts.isEmpty else { return "\(value)" }
    if mirror.displayStyle == .dictionary || mirror.displayStyle == .set { parts.sort() }
    return "(\(parts.joined(separator: ", ")))"
}
