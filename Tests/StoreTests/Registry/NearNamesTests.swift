import LiveActivity
import Redis
import Testing

@testable import Store
@testable import StoreRegistry

@Suite struct NearNamesTests {
    @Test(arguments: [
        ("ordr-1", "order-1"), ("oorder-1", "order-1"), ("odrer-1", "order-1"), ("orber-1", "order-1"),
        ("Order-1", "order-1"), ("order_1", "order-1"), ("order-12", "order-1"),
    ])
    func `one edit is put right`(name: String, meant: String) {
        #expect(Spellings.near(name, besides: []).contains(meant))
    }

    @Test func `digits are tried behind the beginnings of the neighbours`() {
        let near = Spellings.near("ordrr-987654321", besides: ["order-1", "order-2", "match-7", "plain"])
        #expect(near.contains("order-987654321") && near.contains("match-987654321") && near.contains("plain987654321"))
        #expect(Set(near).count == near.count && !near.contains("ordrr-987654321"))
    }

    @Test(arguments: ["é", "\u{301}x", "a", "1", String(repeating: "é", count: 127)])
    func `every spelling is text`(name: String) {
        for spelling in Spellings.near(name, besides: ["é1", ""]) { #expect(!spelling.isEmpty) }
    }

    @Test func `however many names there are, some hundreds are looked at`() async throws {
        try await RegistryFixture.run { fixture in
            for start in stride(from: 0, to: 3_000, by: 500) {
                let names = (start..<start + 500).map { "order-\(1_000 + $0)" }
                _ = try await fixture.redis.send(
                    RedisCommand("ZADD", fixture.keys.names(fixture.app), names.flatMap { ["0", .string($0)] }))
            }
            let found = try await fixture.registry.names.candidates(fixture.app, near: try ActivityName("ordr-2345"))
            #expect(found.count <= 1_200 && found.map(\.rawValue).contains("order-2345"))
        }
    }
}
