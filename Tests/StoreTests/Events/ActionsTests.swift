import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store

/// The log of actions in Redis.
@Suite struct ActionsTests {
    private let app = try! AppKey("shop")

    private func store(_ server: RedisServer, _ policy: ActionPolicy) -> Store {
        Store(redis: RedisClient(url: server.url, scripts: Store.scripts, logger: .quiet), actions: policy)
    }

    private func action(_ number: Int) -> Action {
        Action("pause", credential: "master", address: "::1", operation: "\(number)", subjects: [.name: "n\(number)"])
    }

    @Test func `actions come back as they were, the newest first`() async throws {
        let server = try await RedisServer.start()
        let store = store(server, ActionPolicy())
        let many = Action(
            "publish", credential: "feed", address: "192.0.2.1", operation: "o",
            subjects: Dictionary(uniqueKeysWithValues: Action.Subject.allCases.map { ($0, "x \($0)") }), count: 7,
            failed: 503)
        try await store.actions.add(app, [action(1), many])
        #expect(try await store.actions.list(app, after: nil, limit: 9).actions.map(\.action) == [many, action(1)])
    }

    @Test func `the log has a length and a life, and none at all with keep 0`() async throws {
        let server = try await RedisServer.start()
        let short = store(server, ActionPolicy(keep: 100, life: .seconds(3_600)))
        for part in 0..<10 { try await short.actions.add(app, (0..<100).map { action(part * 100 + $0) }) }
        let key = short.keys.actions(app)
        let length = try await short.redis.send(RedisCommand("XLEN", key)).integer()
        #expect((100..<300).contains(length), "\(length): Redis removes whole blocks")
        #expect((3_500_000...3_600_000).contains(try await short.redis.send(RedisCommand("PTTL", key)).integer()))
        let off = store(server, ActionPolicy(keep: 0))
        try await off.actions.add(try AppKey("other"), [action(1)])
        #expect(try await off.actions.list(try AppKey("other"), after: nil, limit: 9).actions.isEmpty)
    }

    @Test func `what is older than its life is not shown, and removed with its block`() async throws {
        let server = try await RedisServer.start()
        let store = store(server, ActionPolicy())
        let key = store.keys.actions(app)
        for number in 1...300 {
            _ = try await store.redis.send(RedisCommand("XADD", key, ["\(number)-1", "action", "pause", "by", "m"]))
        }
        #expect(try await store.actions.list(app, after: nil, limit: 9).actions.isEmpty)
        try await store.actions.add(app, [action(1)])
        #expect(try await store.redis.send(RedisCommand("XLEN", key)).integer() <= 101)
    }

    @Test func `an entry that no version wrote is passed over, and a filter reads a bounded part`() async throws {
        let server = try await RedisServer.start()
        let store = store(server, ActionPolicy())
        _ = try await store.redis.send(RedisCommand("XADD", store.keys.actions(app), ["*", "x", "y"]))
        for part in 0..<5 { try await store.actions.add(app, (0..<500).map { action(part * 500 + $0) }) }
        var filter = ActionFilter()
        filter.name = "n0"
        let first = try await store.actions.list(app, filter, after: nil, limit: 10)
        #expect(first.actions.isEmpty && first.next != nil, "2,000 entries were read")
        let second = try await store.actions.list(app, filter, after: first.next, limit: 10)
        #expect(second.actions.map(\.action) == [action(0)] && second.next == nil)
    }
}
