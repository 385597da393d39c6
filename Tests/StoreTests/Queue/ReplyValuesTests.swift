import Redis
import Testing

@testable import Store
@testable import StoreGround

/// Tests that a reply with other values than its reader expects is an error which names the value.
@Suite struct ReplyValuesTests {
    /// - Parameter values: as Lua has them
    private func reply(_ values: String) async throws -> Reply {
        let fixture = try await PushFixture.start()
        defer { withExtendedLifetime(fixture) {} }
        return try await fixture.store.redis.run(RedisCommand("EVAL", [.string("return {\(values)}"), "0"]))
    }

    @Test func `the values of a reply have types and names`() async throws {
        let reply = try await reply("'ok', 7, '12.5', false, {'a', 'b'}")
        let (state, sequence, due, none, pairs) = try reply.values(
            .string("state"), .integer("sequence"), .optionalTime("due"), .optionalString("none"), .hash("pairs"))
        #expect(state == "ok" && sequence == 7 && due == 13 && none == nil && pairs.text("a") == "b")
    }

    @Test(arguments: [
        ("'ok'", "sequence: the reply ends before it"),
        ("'ok', 'many'", "sequence: expected an integer, got a string of 4 bytes"),
        ("'ok', 7, 8", "1 values too many"),
    ])
    func `an unreadable reply is an error that names the value`(values: String, error: String) async throws {
        let reply = try await reply(values)
        #expect(throws: StoreError.redis(.unexpectedReply(error))) {
            try reply.values(.string("state"), .integer("sequence"))
        }
        #expect(throws: StoreError.redis(.unexpectedReply(error))) {
            var values = try ReplyValues(reply)
            _ = try values.next(.string("state"))
            _ = try values.last(.integer("sequence"))
        }
    }

    @Test func `an error reply stays the error of Redis`() async throws {
        let fixture = try await PushFixture.start()
        defer { withExtendedLifetime(fixture) {} }
        let reply = try await fixture.store.redis.reply(RedisCommand("GETRANGE", []))
        let error = #expect(throws: StoreError.self) { try [reply, reply].values(.string("text"), .string("more")) }
        guard case .redis(.server("ERR", _)) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }
}
