import Answers
import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store

/// Credentials in Redis.
@Suite struct CredentialsTests {
    private let app = try! AppKey("shop")

    private func store() async throws -> (RedisServer, Store) {
        let server = try await RedisServer.start()
        return (server, Store(redis: RedisClient(url: server.url, scripts: Store.scripts, logger: .quiet)))
    }

    private func credential(_ id: String) -> AppCredential {
        AppCredential(
            id: id, scopes: [.publish, .track], namePrefix: "match-", expires: 5, created: 4,
            secrets: [.init(hash: "h1"), .init(hash: "h2", until: 9)])
    }

    @Test func `a credential comes back as it was, and each change has another version`() async throws {
        let (server, store) = try await store()
        defer { server.stop() }
        let credentials = store.credentials
        #expect(try await credentials.version(app) == 0)
        #expect(try await credentials.change(app, "a", from: nil, to: credential("a")) == .done)
        #expect(try await credentials.all(app).credentials == [credential("a")])
        #expect(try await credentials.version(app) == 1)
        #expect(try await credentials.change(app, "a", from: nil, to: credential("a")) == .conflict)
        var other = credential("a")
        other.secrets.removeLast()
        #expect(try await credentials.change(app, "a", from: other, to: credential("a")) == .conflict)
        #expect(try await credentials.version(app) == 1, "a refusal changes nothing")
        #expect(try await credentials.change(app, "a", from: credential("a"), to: other) == .done)
        #expect(try await credentials.remove(app, "a"))
        #expect(try await !credentials.remove(app, "a"))
        #expect(try await credentials.all(app).credentials.isEmpty)
        #expect(try await credentials.version(app) == 3)
    }

    @Test func `an app has so many credentials at most`() async throws {
        let (server, store) = try await store()
        defer { server.stop() }
        for number in 0..<Credentials.most {
            let id = "c\(number)"
            #expect(try await store.credentials.change(app, id, from: nil, to: credential(id)) == .done)
        }
        #expect(try await store.credentials.change(app, "x", from: nil, to: credential("x")) == .full)
        #expect(try await store.credentials.change(try AppKey("b"), "x", from: nil, to: credential("x")) == .done)
    }

    /// A limit that cannot be read must not become no limit.
    @Test(arguments: [
        #"{"scopes":["publish","admin"],"secrets":[]}"#, #"{"scopes":[],"secrets":[]}"#, #"{"secrets":[]}"#,
        #"{"scopes":["read"],"secrets":[{"hash":"h","until":"soon"}]}"#, #"{"scopes":["read"],"secrets":[{}]}"#,
        #"{"scopes":["read"],"secrets":[],"expires":"never"}"#, #"{"scopes":["read"],"secrets":[],"prefix":7}"#, "x",
    ])
    func `what only another version can read opens nothing, and can be removed`(document: String) async throws {
        let (server, store) = try await store()
        defer { server.stop() }
        _ = try await store.redis.send(
            RedisCommand("HSET", store.keys.credentials(app), ["c:a", .string(document)]))
        #expect(try await store.credentials.all(app).credentials.isEmpty)
        #expect(try await store.credentials.remove(app, "a"))
    }
}
