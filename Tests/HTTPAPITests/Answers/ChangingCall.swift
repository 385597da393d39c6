import LiveActivity
import Redis
import StrictJSON
import TestSupport
import Testing

@testable import HTTPAPI
@testable import Store

/// One request that changes something, and how a test finds out what became of it.
struct PreparedCall {
    var path: String
    var body: String?
    var headers: [(String, String)] = []
    var user: String? = "\(GatewayFixture.key):\(GatewayFixture.masterSecret)"
    /// How many parts the change has.
    var parts = 1
    /// Counts the parts that are in Redis.
    var count: () async throws -> Int
}

/// A call of the gateway that changes something. Every row of `Endpoint.all` that does needs one.
struct ChangingCall: Sendable, CustomTestStringConvertible {
    /// Method and pattern.
    let endpoint: String
    var variant = ""
    /// The answer that a repetition may get about a change that was made before.
    var repeated: Set<Int> = []
    /// False for a call that makes something new each time.
    var isRepeatable = true
    /// Makes everything that the call needs. Each number has names of its own.
    let prepare: @Sendable (AnswersFixture, _ number: Int) async throws -> PreparedCall

    var testDescription: String { variant.isEmpty ? endpoint : "\(endpoint), \(variant)" }
    var method: String { String(endpoint.prefix { $0 != " " }) }

    init(
        _ endpoint: String, _ variant: String = "", repeated: Set<Int> = [], isRepeatable: Bool = true,
        prepare: @escaping @Sendable (AnswersFixture, _ number: Int) async throws -> PreparedCall
    ) {
        (self.endpoint, self.variant, self.prepare) = (endpoint, variant, prepare)
        (self.repeated, self.isRepeatable) = (repeated, isRepeatable)
    }
}

/// A gateway behind a proxy, and the same Redis seen directly.
struct AnswersFixture: Sendable {
    let gateway: GatewayFixture
    let proxy: RedisProxy
    let store: Store

    var app: AppKey { get throws { try gateway.app } }

    static func run(_ body: (AnswersFixture) async throws -> Void) async throws {
        let setUp = try await GatewayFixture.setUpOfFeatures()
        let server = try await RedisServer.start(tcp: true)
        defer { server.stop() }
        let proxy = try RedisProxy(to: server)
        defer { proxy.stop() }
        let direct = RedisClient(url: server.socketURL, scripts: Store.scripts, logger: .quiet)
        let policy = EventPolicy(keep: 100, queued: [.failed])
        let store = Store(redis: direct, events: [try AppKey(GatewayFixture.key): policy], clock: { testNow })
        // The direct client loads the scripts, so that the gateway's many new connections need not.
        try await direct.ping()
        try await GatewayFixture.run(
            server, url: proxy.url, connections: 1, scripts: [], replicas: ReplicaPolicy(replicas: 0), events: policy,
            configure: {
                $0.apps[0].takesReceipts = true
                $0.apps[0].platforms = [.ios, .android]
                setUp(&$0)
            }
        ) { gateway in
            try await body(AnswersFixture(gateway: gateway, proxy: proxy, store: store))
        }
        await direct.close()
    }

    /// Sends a request that prepares a test, while nothing is wrong.
    @discardableResult
    func send(_ method: String, _ path: String, _ body: String? = nil) async throws -> Reply {
        let reply = try await gateway.send(method, path, body)
        try #require((200..<300).contains(reply.status), "\(method) \(path): \(reply.text)")
        return reply
    }

    /// How many pushes were accepted under a name.
    func pushes(_ name: String) async throws -> Int {
        let key = store.keys.name(store.keys.tag(try app, try ActivityName(name)))
        return Int(try await store.redis.run("HGET", key, "seq").optionalString() ?? "0") ?? -1
    }

    func followers(_ name: String) async throws -> Int {
        try await store.names.info(try app, try ActivityName(name))?.tokens ?? 0
    }

    func startTokens(_ type: String) async throws -> Int {
        try await store.tokens.startTokens(try app, type, reportedBefore: 0).tokens
    }

    func record(_ channel: String) async throws -> ChannelRecord? {
        try await store.channels.record(try app, try ChannelID(channel))
    }

    func tags(_ channel: String) async throws -> [String] { try await record(channel)?.tags["g"] ?? [] }

    /// Whether a channel is forgotten, or noted for a worker that forgets it.
    func isForgotten(_ channel: String) async throws -> Bool {
        let stored = try ChannelID(channel).stored
        let steps = try await store.redis.run("ZRANGE", store.keys.forgetSteps(try app), "0", "-1").byteStrings()
        if steps.contains(where: { ForgetStep(stored: $0)?.channel == stored }) { return true }
        return try await record(channel) == nil
    }

    func schedule(_ id: String) async throws -> Schedule? {
        try await store.schedules.find(try app, try #require(PushID(id)))
    }

    func deadLetter(_ name: String) async throws -> PushID { try await gateway.deadLetter(name) }
    /// Puts a follower into quarantine.
    func quarantine(_ name: String) async throws {
        let place = TokenPlace.activity(try ActivityName(name))
        try await send("PUT", "/api/activities/\(name)/channels/q", #"{"token":"aabb"}"#)
        try await store.quarantine.enlist(try app, place)
        let mark = QuarantineMark(reason: "R", since: 0, token: [0xAA, 0xBB])
        try await store.redis.run(
            "HSET", store.keys.quarantine(store.keys.tag(try app, place)), .bytes(try ChannelID("q").stored),
            .bytes(mark.storedValue))
    }

    func isQuarantined(_ name: String) async throws -> Bool {
        let place = TokenPlace.activity(try ActivityName(name))
        return try await store.redis.run("EXISTS", store.keys.quarantine(store.keys.tag(try app, place))).isOne()
    }

    func credential(_ id: String) async throws -> AppCredential? {
        try await store.credentials.all(try app).credentials.first { $0.id == id }
    }

    static func push(_ name: String, event: String = "update", more: String = "", tail: String = "") -> String {
        publishText(
            activity: #"{"name":"\#(name)","event":"\#(event)","content_state":{"n":1}\#(more)}"#, tail: tail)
    }

    static func schedule(_ name: String, at hour: Int) -> String {
        #"{"schedule":{"scheduled_time":"2026-11-21T\#(hour):00:00"},"push":\#(push(name))}"#
    }
}

extension Bool {
    /// As a number of parts.
    var part: Int { self ? 1 : 0 }
}

extension GatewayFixture {
    /// A push that has given something up.
    /// - Parameter body: of the push, which must be of the name. Nil: it is for one device on iOS.
    func deadLetter(_ name: String, _ body: String? = nil) async throws -> PushID {
        // A push for some is no lone push, so it has the keys that are set here.
        let push = publishText(
            audience: #"{"ios_channel":"00000000-0000-4000-8000-000000000001"}"#,
            activity: #"{"name":"\#(name)","event":"update","content_state":{"n":1}}"#)
        let reply = try await send("POST", "/api/push", body ?? push)
        let id = try #require(PushID(try reply.strings("push_ids")[0]))
        let name = try ActivityName(name)
        let tag = store.keys.tag(try app, name)
        try await store.redis.run([
            RedisCommand("HSET", store.keys.push(tag, id), "state", "done", "expanded", "1"),
            RedisCommand("DEL", store.keys.unswept(tag)),
            RedisCommand("HSET", store.keys.deadLetter(tag, id), "at", .int(testNow), "r:Unregistered", "1"),
        ])
        try await store.deadLetters.enlist(try app, name, [id])
        return id
    }
}
