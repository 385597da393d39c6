import StrictJSON
import TestSupport
import Testing

@testable import HTTPAPI

/// A publisher looks back.
@Suite struct HistoryTests {
    @Test func `the pushes of an app and of a name, page by page`() async throws {
        try await GatewayFixture.run { gateway in
            var ids: [String] = []
            for name in ["a", "b", "a"] {
                let reply = try await gateway.publish(
                    publishText(activity: #"{"name":"\#(name)","event":"update","content_state":{}}"#))
                ids += try reply.strings("push_ids")
            }
            let all = try await gateway.send("GET", "/api/pushes")
            #expect(try Self.ids(all) == ids.reversed() && all.integer("total") == 3)
            let first = try await gateway.send("GET", "/api/pushes?limit=2")
            let next = try first.object.required("next").string()
            let second = try await gateway.send("GET", "/api/pushes?limit=2&after=\(next)")
            #expect(try Self.ids(first) + Self.ids(second) == ids.reversed())
            #expect(try Self.ids(await gateway.send("GET", "/api/pushes?name=a")) == [ids[2], ids[0]])
            let superseded = try await gateway.send("GET", "/api/pushes?name=a&state=superseded,failed&event=update")
            #expect(try Self.ids(superseded) == [ids[0]])
            #expect(try Self.ids(await gateway.send("GET", "/api/pushes?to=1000000000")) == [])
            #expect(try Self.ids(await gateway.send("GET", "/api/pushes?from=2020-01-01T00:00:00")) == ids.reversed())
        }
    }

    @Test func `what was sent is shown with its audience`() async throws {
        try await GatewayFixture.run { gateway in
            let body = #"""
                {"audience":{"and":[{"tag":"vip"},{"not":{"named_user":"ann"}}]},"device_types":["ios"],
                "notification":{"ios":{"live_activity":{"name":"a","event":"update","content_state":{"score":"2:1"}}}}}
                """#
            let id = try await gateway.publish(body).strings("push_ids")[0]
            let reply = try await gateway.send("GET", "/api/push/\(id)/content")
            #expect(reply.status == 200)
            #expect(reply.text.contains(#"{"and":[{"tag":"vip","group":"device"},{"not":{"named_user":"ann"}}]}"#))
            #expect(reply.text.contains(#""content-state":{"score":"2:1"}"#))
            #expect(try await gateway.send("GET", "/api/push/\(id)/content", user: "other-app:other-m").status != 200)
            let unknown = "019a1b6e-b16a-7c58-b78d-181d5e242078"
            #expect(try await gateway.send("GET", "/api/push/\(unknown)/content").status == 404)
        }
    }

    @Test(arguments: [
        ("state=gone", "superseded"), ("event=", "start, update, end"), ("from=yesterday", "2026-11-21T18:00:00"),
        ("limit=0", "1 to 1000"), ("after=x", "`next`"), ("name=", "name"), ("name=a&after=1.x", "UUID"),
    ])
    func `a query that is wrong is refused, and says why`(query: String, word: String) async throws {
        try await GatewayFixture.run { gateway in
            let reply = try await gateway.send("GET", "/api/pushes?\(query)")
            #expect(reply.status == 400 && reply.text.contains(word), "\(reply.text)")
        }
    }

    @Test func `a name shows its last content state, whom it was for and when`() async throws {
        try await GatewayFixture.run { gateway in
            try await gateway.follow("a")
            let before = try await gateway.send("GET", "/api/activities/a")
            #expect(before.text.contains(#""newest_push":null,"last_content_state":null"#))
            let publish = publishText(
                activity: #"{"name":"a","event":"update","content_state":{"score": "2:1", "x": 1.50}}"#)
            let id = try await gateway.publish(publish).strings("push_ids")[0]
            _ = try await gateway.publish(publishText(activity: #"{"name":"a","event":"end"}"#))
            let state = try await gateway.send("GET", "/api/activities/a").object.required("last_content_state")
                .object()
            #expect(try state.required("push_id").string() == id && state.required("event").string() == "update")
            let shown = try state.required("content_state")
            #expect(String(decoding: shown.raw, as: UTF8.self) == #"{"score": "2:1", "x": 1.50}"#)
            #expect(try state.required("audience").string() == "all")
        }
    }

    private static func ids(_ reply: Reply) throws -> [String] {
        try reply.object.required("pushes").array().map { try $0.object().required("push_id").string() }
    }
}
