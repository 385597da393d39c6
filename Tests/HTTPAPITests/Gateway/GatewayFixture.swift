import Curl
import LiveActivity
import PrometheusText
import Redis
import ServiceLifecycle
import StrictJSON
import TestSupport
import Testing

@testable import HTTPAPI
@testable import Store

/// A gateway on a free port with its own Redis, for one test.
struct GatewayFixture: Sendable {
    static let key = "app-key-0123456789abcd"
    static let secret = "app-secret-0123456789a"
    static let masterSecret = "master-secret-01234567"

    let server: RedisServer
    let store: Store
    let gateway: Gateway
    let port: Int
    let log: LogLines
    /// Runs the gateway until the test ends.
    let group: ServiceGroup

    var app: AppKey {
        get throws { try AppKey(Self.key) }
    }

    /// Starts everything, runs `body`, and stops everything.
    /// - Parameters:
    ///   - extra: further options of redis-server.
    ///   - patience: how long the gateway waits for Redis. It is long, because a busy machine must not look like a
    ///     missing Redis. A test of a silent Redis sets a short one.
    ///   - events: the app's outgoing events; nil: it has none.
    static func run(
        redis extra: [String] = [], replicas: ReplicaPolicy? = nil, patience: Duration = .seconds(60),
        quotas: [Quota: Int] = [:], events: EventPolicy? = nil,
        configure: (inout GatewayConfiguration) -> Void = { _ in },
        _ body: (GatewayFixture) async throws -> Void
    ) async throws {
        let server = try await RedisServer.start(extra: extra)
        defer { server.stop() }
        try await run(
            server, url: server.url, replicas: replicas, patience: patience, quotas: quotas, events: events,
            configure: configure, body)
    }

    /// The same with a Redis of the test's own, which the gateway reaches at `url`.
    static func run(
        _ server: RedisServer, url: RedisURL, connections: Int = 2, scripts: [RedisScript] = Store.scripts,
        replicas: ReplicaPolicy? = nil,
        patience: Duration = .seconds(60), quotas: [Quota: Int] = [:],
        events: EventPolicy? = nil, configure: (inout GatewayConfiguration) -> Void,
        _ body: (GatewayFixture) async throws -> Void
    ) async throws {
        let log = LogLines()
        var options = RedisOptions()
        options.connectTimeout = patience
        options.commandTimeout = patience
        let client = RedisClient(
            url: url, connections: connections, scripts: scripts, options: options, logger: .quiet)
        // The gateway dates registrations, and the same clock decides about their life. So the real date matters only
        // to schedules, which Redis's clock ends: it is as late for them as for the test.
        let passed = Duration.milliseconds(max(0, wallClock() - testNow))
        let started = Store(
            redis: client, replicas: replicas, retention: Keyspace.defaultRetention + passed,
            events: try events.map { [try AppKey(key): $0] } ?? [:], clock: { testNow })
        // As each process reads it before it works. Some tests have no Redis, or count its keys.
        var configuration = GatewayConfiguration(
            apps: [
                GatewayApp(key: try AppKey(key), secret: secret, masterSecret: masterSecret),
                GatewayApp(key: try AppKey("other-app"), secret: "other-s", masterSecret: "other-m"),
            ])
        let apps = configuration.apps
        configure(&configuration)
        // Live settings come by a reload, so that each test of an effect is a test of the reload too.
        let gateway = Gateway(
            configuration.atStart(apps), store: started, registry: PrometheusRegistry(), logger: log.logger,
            clock: { testNow })
        let store = started.limited(quotas: quotas)
        gateway.reload(configuration, store: store)
        let group = ServiceGroup(configuration: .init(services: [gateway], logger: .quiet))
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            let port = try #require(await gateway.boundPort())
            try await body(
                GatewayFixture(server: server, store: store, gateway: gateway, port: port, log: log, group: group))
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
        await client.close()
    }

    /// Sends one request. `user` is the pair for Basic, and nil sends none.
    func send(
        _ method: String, _ path: String, _ body: String? = nil, user: String? = "\(key):\(masterSecret)",
        headers: [(String, String)] = []
    ) async throws -> Reply {
        var headers = headers + [("Content-Type", "application/json")]
        if let user { headers.append(("Authorization", "Basic " + Base64.encode(user.utf8))) }
        let request = HTTPRequest(
            method, "http://127.0.0.1:\(port)\(path)", headers: headers, body: body.map { .bytes(Array($0.utf8)) },
            timeout: .seconds(120))
        return Reply(try await HTTPClient().send(request))
    }

    /// Lets one channel follow a name, so that a publish to it gets no hint.
    func follow(_ name: String) async throws {
        let reply = try await send("PUT", "/api/activities/\(name)/channels/c", #"{"token":"aa"}"#)
        try #require(reply.status == 200, "\(reply.text)")
    }

    /// A worker of the app runs.
    func beat() async throws {
        let now = store.time.now()
        let load = [try app: Heartbeat.Load()]
        try await store.heartbeats.write(Heartbeat(worker: "one-00000000", at: now, startedAt: now, loads: load))
    }

    func publish(_ body: String, path: String = "/api/push", headers: [(String, String)] = []) async throws -> Reply {
        try await send("POST", path, body, headers: headers)
    }

    /// The push that a publish to this name was accepted as.
    func record(of reply: Reply, name: String) async throws -> StoredHash {
        let id = try #require(PushID(try reply.strings("push_ids")[0]))
        let tag = store.keys.tag(try app, try ActivityName(name))
        return try await store.redis.pushFields(store.keys, [(tag, id)])[0]
    }
}

extension GatewayFixture {
    /// A configuration with which the calls of features can be made.
    typealias SetUp = @Sendable (inout GatewayConfiguration) -> Void

    static func setUpOfFeatures() async throws -> SetUp {
        var all: [SetUp] = []
        for feature in ofFeatures { all.append(try await feature()) }
        return { [all] configuration in for setUp in all { setUp(&configuration) } }
    }
}

extension GatewayConfiguration {
    /// The fields that need a restart, and the defaults of the others.
    fileprivate func atStart(_ apps: [GatewayApp]) -> GatewayConfiguration {
        let known = Set(apps.map(\.key))
        var start = GatewayConfiguration(
            host: host, port: port, apps: apps + self.apps.filter { !known.contains($0.key) })
        start.maximumConnections = maximumConnections
        start.maximumConnectionsPerAddress = maximumConnectionsPerAddress
        start.idleTimeout = idleTimeout
        start.headTimeout = headTimeout
        start.writeTimeout = writeTimeout
        start.extras = extras
        start.hasOwnMonitor = hasOwnMonitor
        start.hasConsole = hasConsole
        start.consoleUndo = consoleUndo
        start.version = version
        return start
    }
}

extension Keyspace {
    /// A pattern for the pushes of all names.
    var anyPush: RedisKey { RedisKey(pushPrefix("*") + "*") }
}

struct Reply: Sendable {
    let response: HTTPResponse

    init(_ response: HTTPResponse) { self.response = response }

    var status: Int { response.status }
    /// The value of a header, by its lowercase name.
    func header(_ name: String) -> String? { response.header(name) }
    var text: String { String(decoding: response.body, as: UTF8.self) }
    var object: JSONObject {
        get throws { try JSONDocument(response.body).root.object() }
    }

    func string(_ key: String) throws -> String { try object.required(key).string() }
    func strings(_ key: String) throws -> [String] { try object.required(key).array().map { try $0.string() } }
    func integer(_ key: String) throws -> Int { Int(try object.required(key).integer()) }

    /// The body with every UUID and every time replaced, for comparison with a golden text.
    var golden: String {
        var out = ""
        var rest = text[...]
        while let character = rest.first {
            if let end = rest.index(rest.startIndex, offsetBy: 36, limitedBy: rest.endIndex),
                UUIDBytes(rest[..<end]) != nil
            {
                out += "<uuid>"
                rest = rest[end...]
            } else if let end = rest.index(rest.startIndex, offsetBy: 24, limitedBy: rest.endIndex),
                rest[..<end].hasSuffix("Z"), TimeText.parse(String(rest[..<end])) != nil
            {
                out += "<time>"
                rest = rest[end...]
            } else {
                out.append(character)
                rest = rest.dropFirst()
            }
        }
        return out
    }
}
