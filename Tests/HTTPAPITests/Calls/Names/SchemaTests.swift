import Foundation
import LiveActivity
import Redis
import Store
import StrictJSON
import Synchronization
import TestSupport
import Testing

@testable import HTTPAPI

/// Tests schemas of attributes types and their effect on a publish.
@Suite struct SchemaTests {
    private let match =
        #"{"content_state":{"type":"object","properties":{"home":{"type":"integer"}},"required":["home"]},"names":["match-*","final"]}"#

    private func update(_ name: String, _ state: String) -> String {
        publishText(activity: #"{"name":"\#(name)","event":"update","content_state":\#(state)}"#)
    }

    @Test func `a publish that does not have its type's shape is refused with the place`() async throws {
        try await GatewayFixture.run { gateway in
            #expect(try await gateway.send("PUT", "/api/schemas/Match", match).status == 200)
            let wrong = try await gateway.publish("[\(update("order-1", "{}")),\(update("match-1", #"{"home":"1"}"#))]")
            #expect(wrong.status == 400)
            let details = try wrong.object.required("details").object()
            #expect(
                try details.required("path").string() == "[1].notification.ios.live_activity.content_state.home")
            #expect(
                try details.required("error").string() == "must be a whole number, not a string (schema of Match)")
            #expect(details["location"] != nil)
            #expect(
                try await gateway.store.names.info(gateway.app, try ActivityName("order-1")) == nil, "all or none")

            for path in ["/api/push/validate", "/api/push"] {
                #expect(try await gateway.publish(update("final", "{}"), path: path).status == 400)
                #expect(try await gateway.publish(update("match-1", #"{"home":1}"#), path: path).status / 100 == 2)
            }
            let scheduled = #"{"schedule":{"scheduled_time":"2026-11-21T19:00:00"},"push":\#(update("match-2", "{}"))}"#
            let reply = try await gateway.send("POST", "/api/schedules", scheduled)
            #expect(reply.status == 400)
            #expect(
                try reply.string("error").hasPrefix(
                    "push.notification.ios.live_activity.content_state.home: is required"))
            // An end without a state has nothing to compare. The other app has its own schemas.
            #expect(
                try await gateway.publish(publishText(activity: #"{"name":"match-3","event":"end"}"#)).status == 202)
            let other = try await gateway.send("POST", "/api/push", update("match-1", "{}"), user: "other-app:other-m")
            #expect(other.status == 202)

            #expect(try await gateway.send("DELETE", "/api/schemas/Match").status == 204)
            #expect(try await gateway.publish(update("match-1", "{}")).status == 202)
        }
    }

    @Test func `a credential for some names reads schemas, not the patterns of others`() async throws {
        try await GatewayFixture.run { gateway in
            let both = #"{"content_state":{"type":"object"},"names":["match-*","order-7","m*","order-*"]}"#
            #expect(try await gateway.send("PUT", "/api/schemas/Match", both).status == 200)
            let order = #"{"attributes":true,"names":["order-1"]}"#
            #expect(try await gateway.send("PUT", "/api/schemas/Order", order).status == 200)
            let secret = try await CredentialTests.create(
                gateway, #"{"id":"m","scopes":["publish","read","operate"],"name_prefix":"match-"}"#)
            func send(_ method: String, _ path: String, _ body: String? = nil) async throws -> Reply {
                try await gateway.send(method, path, body, user: "\(GatewayFixture.key):\(secret)")
            }
            let list = try await send("GET", "/api/schemas").text
            #expect(list.contains(#""Match""#) && list.contains(#""names":["match-*","m*"]"#), "\(list)")
            #expect(list.contains(#""Order""#) && !list.contains("order-"), "\(list)")
            let document = try await send("GET", "/api/schemas/Match").text
            #expect(document == #"{"content_state":{"type":"object"},"names":["match-*","m*"]}"#)
            #expect(try await send("GET", "/api/schemas/Order").text == #"{"attributes":true,"names":[]}"#)
            #expect(try await gateway.send("GET", "/api/schemas/Match").text == both)
            for (method, body) in [("PUT", "{}"), ("DELETE", nil)] {
                #expect(try await send(method, "/api/schemas/Match", body).status == 403)
            }
        }
    }

    @Test func `a name's type can be told, and goes before the names of a schema`() async throws {
        try await GatewayFixture.run { gateway in
            _ = try await gateway.send("PUT", "/api/schemas/Match", match)
            let free = #"{"content_state":true,"names":["match-friendly-*"]}"#
            #expect(try await gateway.send("PUT", "/api/schemas/Friendly", free).status == 200)
            #expect(try await gateway.publish(update("match-friendly-1", "{}")).status == 202, "the longer beginning")
            let told = try await gateway.send(
                "PUT", "/api/activities/match-friendly-1", #"{"attributes_type":"Match"}"#)
            #expect(told.status == 200)
            #expect(try await gateway.publish(update("match-friendly-1", "{}")).status == 400)
            #expect(
                try await gateway.send("GET", "/api/activities/match-friendly-1").string("attributes_type") == "Match")
            #expect(
                try await gateway.send("PUT", "/api/activities/match-friendly-1", #"{"attributes_type":null}"#).status
                    == 200)
            #expect(try await gateway.publish(update("match-friendly-1", "{}")).status == 202)
            for body in ["{}", #"{"attributes_type":""}"#, #"{"attributes_type":"x","y":1}"#] {
                #expect(try await gateway.send("PUT", "/api/activities/n", body).status == 400)
            }
            let rule = "attributes_type: must be 1 to 255 bytes of text without control characters"
            for (path, body) in [
                ("/api/activities/n", #"{"attributes_type":"a\u0007"}"#), ("/api/schemas/a%07", match),
            ] {
                let refused = try await gateway.send("PUT", path, body)
                #expect(try refused.status == 400 && refused.string("error").hasPrefix(rule), "\(refused.text)")
            }
        }
    }

    @Test func `while the node of the schemas is away, names that live elsewhere are checked as before`() async throws {
        let cluster = try await ClusterServers.start()
        try await cluster.allowPartialCoverage()
        let store = Store(redis: RedisClient(url: cluster.url, scripts: Store.scripts, logger: .quiet))
        let app = try AppKey("shop")
        _ = try await store.schemas.set(app, type: "Match", document: Array(match.utf8))
        let start = ContinuousClock.now
        let passed = Mutex(Duration.zero)
        let cache = SchemaCache(store.schemas, now: { start + passed.withLock { $0 } })
        #expect(try await cache.compiled(app).types.count == 1)
        try await cluster.primary(of: "{shop}").signal(SIGKILL)
        for seconds in 2..<10 {
            passed.withLock { $0 = .seconds(seconds) }
            #expect(try await cache.compiled(app).types.count == 1, "each connection may break under a question")
        }
        cluster.stop()
    }

    @Test func `another gateway's change is seen, and one from a newer version is not compared`() async throws {
        try await GatewayFixture.run { gateway in
            let (store, app) = (gateway.store, try gateway.app)
            let start = ContinuousClock.now
            let passed = Mutex(Duration.zero)
            let cache = SchemaCache(store.schemas, now: { start + passed.withLock { $0 } })
            #expect(try await cache.compiled(app).types.isEmpty)
            _ = try await store.schemas.set(app, type: "Match", document: Array(match.utf8))
            passed.withLock { $0 = .milliseconds(999) }
            #expect(try await cache.compiled(app).types.isEmpty, "for a second")
            passed.withLock { $0 = .seconds(1) }
            #expect(try await cache.compiled(app).type(for: try ActivityName("match-7")) == "Match")
            _ = try await store.schemas.set(
                app, type: "Match", document: Array(#"{"content_state":true,"names":["cup-*"]}"#.utf8))
            #expect(try await cache.compiled(app).type(for: try ActivityName("match-7")) == "Match")
            cache.forget(app)
            #expect(
                try await cache.compiled(app).type(for: try ActivityName("match-7")) == nil, "its own change, at once")
            _ = try await store.schemas.set(
                app, type: "New", document: Array(#"{"content_state":{"pattern":"x"},"names":["n"]}"#.utf8))
            try await store.schemas.describe(app, try ActivityName("new-1"), type: "New")
            try await gateway.follow("new-1")
            let reply = try await gateway.publish(update("new-1", "{}"))
            #expect(reply.status == 202)
            #expect(
                try reply.strings("warnings") == [
                    "the schema of New was not checked: a newer version of Lamplighter wrote it"
                ])
        }
    }

    @Test func `an app has so many schemas, and those that it has can be changed`() async throws {
        try await GatewayFixture.run { gateway in
            let others = (2..<Schemas.maximum).map { "T\($0)" }
            for type in others {
                let isKept = try await gateway.store.schemas.set(gateway.app, type: type, document: Array("{}".utf8))
                try #require(isKept)
            }
            let master = "\(GatewayFixture.key):\(GatewayFixture.masterSecret)"
            func put(_ type: String, _ user: String) async throws -> Reply {
                try await gateway.send("PUT", "/api/schemas/\(type)", #"{"content_state":true}"#, user: user)
            }
            for type in ["A", "B", "B"] { #expect(try await put(type, master).status == 200) }
            let full = try await put("C", master)
            #expect(full.status == 409)
            #expect(try full.string("error") == "An app may have 200 schemas: delete one first.")
            #expect(try await gateway.send("GET", "/api/schemas/C").status == 404)
            #expect(try await put("A", master).status == 200)
            #expect(try await put("C", "other-app:other-m").status == 200, "another app has schemas of its own")
            #expect(try await gateway.send("DELETE", "/api/schemas/B").status == 204)
            #expect(try await put("C", master).status == 200)
        }
    }

    @Test func `schemas are listed and shown as they were put`() async throws {
        try await GatewayFixture.run { gateway in
            let order = #"{ "content_state": {"type":"object"}, "attributes": {"required":["id"]} }"#
            #expect(try await gateway.send("PUT", "/api/schemas/Order%2F1", order).status == 200)
            #expect(try await gateway.send("PUT", "/api/schemas/Match", match).status == 200)
            #expect(try await gateway.send("GET", "/api/schemas/Order%2F1").text == order)
            #expect(
                try await gateway.send("GET", "/api/schemas").text == #"{"ok":true,"schemas":["#
                    + #"{"attributes_type":"Match","content_state":true,"attributes":false,"names":["match-*","final"]},"#
                    + #"{"attributes_type":"Order/1","content_state":true,"attributes":true,"names":[]}]}"#)
            #expect(try await gateway.send("GET", "/api/schemas/None").status == 404)
            #expect(try await gateway.send("DELETE", "/api/schemas/None").status == 404)
            let taken = #"{"content_state":true,"names":["final"]}"#
            let conflict = try await gateway.send("PUT", "/api/schemas/Cup", taken)
            #expect(conflict.status == 409)
            #expect(try conflict.string("error") == #"names: "final" belongs to the schema of Match."#)
            for user in ["\(GatewayFixture.key):\(GatewayFixture.secret)", nil] {
                #expect(try await gateway.send("PUT", "/api/schemas/Cup", match, user: user).status == 401)
            }
        }
    }

    @Test(arguments: [
        ("{}", "content_state: or `attributes` is required"),
        (#"{"content_state":{"tpye":"x"}}"#, "content_state.tpye: "),
        (#"{"content_state":true,"names":["a*b"]}"#, "names[0]: may have a * at its end only"),
        (#"{"content_state":true,"names":[""]}"#, "names[0]: must be 1 to 255 bytes"), ("[]", "must be an object"),
        (#"{"content_state":true,"schema":{}}"#, "schema: is not a known key here"),
    ])
    func `a document that says something else is refused`(document: String, words: String) throws {
        let root = try JSONDocument(document).root
        let error = #expect(throws: JSONError.self) { try SchemaDocument(root) }
        #expect(error?.description.contains(words) == true, "\(String(describing: error))")
    }
}
