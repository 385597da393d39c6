import Answers
import LiveActivity
import Redis
import StrictJSON
import TestSupport
import Testing

@testable import HTTPAPI
@testable import Store

@Suite struct GatewayTests {
    @Test func `a publish is accepted in Airship's form and can be asked for`() async throws {
        try await GatewayFixture.run { gateway in
            try await gateway.follow("order-1")
            for path in ["/api/push", "/api/push/"] {
                let reply = try await gateway.publish(publishText(), path: path)
                #expect(reply.status == 202)
                #expect(
                    reply.golden
                        == #"{"ok":true,"operation_id":"<uuid>","push_ids":["<uuid>"],"message_ids":[],"content_urls":[]}"#
                )
                #expect(reply.header("content-type") == "application/vnd.urbanairship+json; version=3")
            }
            let ids = try await gateway.publish("[\(publishText()),\(publishText())]").object.required("push_ids")
                .array()
            #expect(ids.count == 2)
            let ledger = try await gateway.send("GET", "/api/push/\(try ids[1].string())")
            #expect(ledger.status == 200)
            #expect(
                ledger.golden
                    == #"{"push_id":"<uuid>","name":"order-1","event":"update","priority":10,"state":"queued","expanded":false,"targets":0,"delivered":0,"pruned":0,"failed":0,"superseded":0,"expired":0,"skipped":0,"pending":0,"retries":0,"duplicates_possible":0,"demoted":0,"late":0,"created_at":"<time>","finished_at":null,"errors":{},"by":{"credential":"master","address":"127.0.0.1"}}"#
            )
            let info = try await gateway.send("GET", "/api/activities/order-1")
            #expect(
                info.golden == #"{"name":"order-1","tokens":1,"shards":1,"last_push_id":"<uuid>","ended":false,"#
                    + #""broadcast":null,"newest_push":{"push_id":"<uuid>","event":"update","state":"queued","#
                    + #""accepted_at":"<time>","audience":"all","by":{"credential":"master","address":"127.0.0.1"}},"#
                    + #""last_content_state":{"push_id":"<uuid>","event":"update","#
                    + #""accepted_at":"<time>","audience":"all","content_state":{"n":1}}}"#)
            #expect(try info.string("last_push_id") == ids[1].string())
            let cancelled = try await gateway.send("DELETE", "/api/push/\(try ids[1].string())")
            #expect(cancelled.status == 200)
            #expect(try cancelled.string("state") == "cancelled")
            // Another app does not see the push.
            let foreign = try await gateway.send("GET", "/api/push/\(try ids[1].string())", user: "other-app:other-m")
            #expect(foreign.status == 404)
            #expect(try foreign.integer("error_code") == 40401)
        }
    }

    @Test func `errors have Airship's form, and nothing is written`() async throws {
        try await GatewayFixture.run { gateway in
            let text =
                "{\n \"audience\": \"all\", \"device_types\": [\"ios\"],\n \"notification\": {\"ios\": {\"live_activity\": {\n  \"name\": \"n\", \"event\": \"update\", \"content_state\": {},\n  \"priority\":    7}}}}"
            for path in ["/api/push", "/api/push/validate/"] {
                let reply = try await gateway.publish(text, path: path)
                #expect(reply.status == 400)
                #expect(
                    reply.golden
                        == #"{"ok":false,"operation_id":"<uuid>","error":"notification.ios.live_activity.priority: must be 5 or 10, not 7","error_code":40000,"details":{"error":"must be 5 or 10, not 7","path":"notification.ios.live_activity.priority","location":{"line":5,"column":18}}}"#
                )
            }
            let half = try await gateway.publish("[\(publishText()),{}]")
            #expect(half.status == 400)
            #expect(try await gateway.store.redis.keyCount() == 0)
            let valid = try await gateway.publish(publishText(), path: "/api/push/validate")
            #expect(valid.status == 200 && valid.text.contains(#"["\"order-1\" has no followers"#))
            #expect(try await gateway.store.redis.keyCount() == 0)
        }
    }

    @Test func `a start is accepted with all that it needs, and goes out asking for a token`() async throws {
        try await GatewayFixture.run { gateway in
            func start(_ more: String, without key: String = "", options: String = "") -> String {
                let parts = [
                    "name": #""n""#, "event": #""start""#, "content_state": "{}", "alert": #"{"title":"t"}"#,
                    "attributes_type": #""T""#, "attributes": #"{"a":1}"#,
                ]
                let members =
                    parts.filter { $0.key != key }.map { "\"\($0.key)\":\($0.value)" } + (more.isEmpty ? [] : [more])
                return publishText(activity: "{\(members.joined(separator: ","))}", tail: options)
            }
            for key in ["content_state", "alert", "attributes_type", "attributes"] {
                let reply = try await gateway.publish(start("", without: key))
                #expect(reply.status == 400)
                let path = try reply.object.required("details").object().required("path").string()
                #expect(path == "notification.ios.live_activity.\(key)")
            }
            let control = try await gateway.publish(start(#""attributes_type":"a\u0001""#, without: "attributes_type"))
            #expect(control.status == 400)
            let misplaced = try await gateway.publish(publishText(tail: #","options":{"restart":true}"#))
            #expect(misplaced.status == 400 && misplaced.text.contains("is allowed with event start only"))
            #expect(try await gateway.publish(start(""), path: "/api/push/validate").status == 200)
            #expect(try await gateway.store.redis.keys(gateway.store.keys.anyPush).isEmpty)
            let reply = try await gateway.publish(start("", options: #","options":{"restart":true}"#))
            #expect(reply.status == 202)
            let record = try await gateway.record(of: reply, name: "n")
            let payload = try #require(record.text("payload"))
            #expect(
                payload.hasSuffix(
                    #""attributes-type":"T","attributes":{"a":1},"alert":{"title":"t"},"input-push-token":1}}"#))
            #expect([record.text("type"), record.text("restart")] == ["T", "1"] && record.text("sup") == nil)
        }
    }

    @Test func `what has no effect is accepted with a warning, in the answer and in the log`() async throws {
        try await GatewayFixture.run { gateway in
            try await gateway.follow("n")
            let body = publishText(
                activity: #"{"name":"n","event":"update","content_state":{},"alert":{"body":"b","sound":"default"}}"#)
            let warning =
                "notification.ios.live_activity.alert has no title: ActivityKit ignores such an alert, its sound too"
            let reply = try await gateway.publish(body)
            #expect(reply.status == 202)
            #expect(try reply.strings("warnings") == [warning])
            let line = try #require(gateway.log.all.first { $0.contains("route=/api/push ") })
            #expect(line.hasPrefix("warning request") && line.contains("warnings=\(warning)"))
            let fine = publishText(
                activity:
                    #"{"name":"n","event":"update","content_state":{},"alert":{"title":{"loc-key":"K","loc-args":["a"]}}}"#
            )
            #expect(try await gateway.publish(fine).object["warnings"] == nil)
        }
    }

    @Test func `a publish past the budget gets a warning`() async throws {
        try await GatewayFixture.run(configure: { $0.budget = HighBudget(perHour: 5) }) { gateway in
            for name in ["order-1", "order-2"] { try await gateway.follow(name) }
            let keys = gateway.store.keys
            let meta = keys.name(keys.tag(try gateway.app, try ActivityName("order-1")))
            try await gateway.store.redis.send(
                RedisCommand("HSET", meta, "budget", .string("\(testNow - 60_000) 5")))
            let warned = try await gateway.publish(publishText())
            #expect(
                try warned.strings("warnings") == [
                    "goes out at priority 5: the name has used its 5 updates at priority 10 for this hour (budget.high_per_hour)"
                ])
            let exempt = [
                publishText(tail: #","options":{"insist":true}"#),
                publishText(activity: #"{"name":"order-1","event":"update","content_state":{},"priority":5}"#),
                publishText(activity: #"{"name":"order-1","event":"update","content_state":{},"alert":{"title":"t"}}"#),
                publishText(activity: #"{"name":"order-2","event":"update","content_state":{}}"#),
            ]
            for body in exempt { #expect(try await gateway.publish(body).object["warnings"] == nil, "\(body)") }
        }
    }

    @Test func `a push without an expiry is tried for its app's own time, a scheduled one too`() async throws {
        try await GatewayFixture.run(configure: { $0.apps[0].lives = [.update: .seconds(90)] }) { gateway in
            let reply = try await gateway.publish(publishText())
            #expect(reply.status == 202)
            let record = try await gateway.record(of: reply, name: "order-1")
            let (created, until) = (try #require(record.number("created")), try #require(record.number("until")))
            #expect(until - created == 90_000)
            let schedule = #"{"schedule":{"scheduled_time":"2026-11-21T19:00:00"},"push":\#(publishText())}"#
            let scheduled = try await gateway.send("POST", "/api/schedules", schedule)
            #expect(scheduled.status == 201)
            let id = try #require(PushID(try scheduled.strings("schedule_ids")[0]))
            let key = gateway.store.keys.schedule(try gateway.app, id)
            #expect(try await gateway.store.redis.send(RedisCommand("HGET", key, "life")).integer() == 90_000)
        }
    }

    @Test func `a publish marks its push only if the app has outgoing events`() async throws {
        for policy in [nil, EventPolicy(keep: 100)] {
            try await GatewayFixture.run(events: policy) { gateway in
                let reply = try await gateway.publish(
                    publishText(activity: #"{"name":"match-42","event":"update","content_state":{}}"#))
                #expect(reply.status == 202)
                let record = try await gateway.record(of: reply, name: "match-42")
                #expect((record.text("tell") == nil) == (policy == nil))
            }
        }
    }

    @Test func `an end that is cancelled before it was sent leaves its name open`() async throws {
        try await GatewayFixture.run { gateway in
            try await gateway.follow("order-1")
            let end = try await gateway.publish(publishText(activity: #"{"name":"order-1","event":"end"}"#))
            let id = try end.strings("push_ids")[0]
            #expect(try await gateway.publish(publishText()).status == 409)
            #expect(try await gateway.send("DELETE", "/api/push/\(id)").string("state") == "cancelled")
            #expect(try await gateway.publish(publishText()).status == 202)
        }
    }

    @Test func `a hundred warnings are shown and all are counted`() throws {
        let warnings = (1...120).map { "warning \($0)" }
        let cases: [(hints: [String], count: Int64)] = [([], 120), (["a hint"], 121)]
        for (hints, count) in cases {
            let answer = Answer(202, DoneAnswer(), warnings: warnings, hints: hints)
            let body = try JSONDocument(answer.body).root.object()
            let shown = try body.required("warnings").array().map { try $0.string() }
            #expect(shown == Array(warnings.prefix(100)) && answer.warnings == shown)
            #expect(try body.required("warning_count").integer() == count)
        }
        let few = Answer(202, DoneAnswer(), warnings: Array(warnings.prefix(100)))
        #expect(try JSONDocument(few.body).root.object()["warning_count"] == nil)
    }

    @Test func `an idempotency key answers the same ids for the same body`() async throws {
        try await GatewayFixture.run { gateway in
            let key = [("Idempotency-Key", "order-1/17")]
            let first = try await gateway.publish("[\(publishText()),\(publishText())]", headers: key)
            let again = try await gateway.publish("[\(publishText()),\(publishText())]", headers: key)
            #expect(first.status == 202 && again.status == 202)
            #expect(try first.object.required("push_ids").raw.elementsEqual(again.object.required("push_ids").raw))
            let other = try await gateway.publish(publishText(), headers: key)
            #expect(other.status == 409)
            #expect(try other.integer("error_code") == 40900)
            for bad in ["", String(repeating: "k", count: 256)] {
                #expect(try await gateway.publish(publishText(), headers: [("Idempotency-Key", bad)]).status == 400)
            }
        }
    }

    @Test func `a repeated publish says what became of its pushes`() async throws {
        try await GatewayFixture.run { gateway in
            let key = [("Idempotency-Key", "order-1/18")]
            let body = "[\(publishText()),\(CredentialTests.update("order-2"))]"
            let first = try await gateway.publish(body, headers: key)
            #expect(try first.object["states"] == nil, "\(first.text)")
            let ids = try first.strings("push_ids")
            #expect(try await gateway.publish(body, headers: key).strings("states") == ["queued", "queued"])
            #expect(try await gateway.send("DELETE", "/api/push/\(ids[0])").string("state") == "cancelled")
            let again = try await gateway.publish(body, headers: key)
            #expect(try again.status == 202 && again.strings("push_ids") == ids, "\(again.text)")
            #expect(try again.strings("states") == ["cancelled", "queued"])
        }
    }

    @Test func `a timestamp behind the name's last is a conflict, told in an array with its place`() async throws {
        try await GatewayFixture.run { gateway in
            func at(_ seconds: Int) -> String {
                publishText(
                    activity: #"{"name":"order-1","event":"update","content_state":{},"timestamp":\#(seconds)}"#)
            }
            #expect(try await gateway.publish(at(1_795_283_990)).status == 202)
            let behind = try await gateway.publish(at(1_795_283_980))
            #expect(behind.status == 409)
            #expect(try behind.string("error").contains("older than the name's last, 1795283990"))
            let mixed = try await gateway.publish("[\(at(1_795_283_995)),\(at(1_795_283_980)),\(at(1_795_283_999))]")
            #expect(mixed.status == 409)
            #expect(try mixed.string("error").hasPrefix("[1]: "))
            let path = try mixed.object.required("details").object().required("path").string()
            #expect(path == "[1].notification.ios.live_activity.timestamp")
            #expect(try mixed.object.required("push_ids").array().count == 1)
        }
    }

    @Test func `a conflict of a push for Android alone is told at the part for Android`() async throws {
        try await GatewayFixture.run(configure: { $0.apps[0].platforms = [.android] }) { gateway in
            func publish(_ event: String, _ rest: String = "") async throws -> Reply {
                let part = #"{"name":"order-1","event":"\#(event)","content_state":{}\#(rest)}"#
                let notification = #"{"android":{"live_update":\#(part)}}"#
                return try await gateway.publish(
                    #"{"audience":"all","device_types":["android"],"notification":\#(notification)}"#)
            }
            func path(_ reply: Reply) throws -> String {
                #expect(reply.status == 409, "\(reply.text)")
                return try reply.object.required("details").object().required("path").string()
            }
            #expect(try await publish("update", #","timestamp":1795283990"#).status == 202)
            let behind = try path(await publish("update", #","timestamp":1795283980"#))
            #expect(behind == "notification.android.live_update.timestamp")
            #expect(try await publish("end").status == 202)
            let closed = try path(await publish("update"))
            #expect(closed == "notification.android.live_update.name")
        }
    }

    @Test func `401 tells nothing`() async throws {
        try await GatewayFixture.run { gateway in
            let attempts: [(String?, [(String, String)])] = [
                (nil, []), ("nobody:x", []), ("\(GatewayFixture.key):wrong", []),
                ("\(GatewayFixture.key):\(GatewayFixture.secret)", []),
                ("other-app:\(GatewayFixture.masterSecret)", []), (nil, [("Authorization", "Basic ???")]),
            ]
            var answers: Set<String> = []
            for (user, headers) in attempts {
                let reply = try await gateway.send("POST", "/api/push", publishText(), user: user, headers: headers)
                #expect(reply.status == 401)
                #expect(reply.header("www-authenticate") == #"Basic realm="lamplighter""#)
                answers.insert(reply.golden)
            }
            #expect(
                answers == [
                    #"{"ok":false,"operation_id":"<uuid>","error":"Authentication failed: send the app key with the secret that this call needs.","error_code":40101}"#
                ])
            // The log holds neither a secret nor a name.
            for line in gateway.log.all {
                #expect(!line.contains("secret") && !line.contains("nobody") && !line.contains("order-1"), "\(line)")
            }
        }
    }

    @Test func `paths, methods and sizes`() async throws {
        try await GatewayFixture.run { gateway in
            let missing = try await gateway.send("GET", "/api/nothing")
            #expect(missing.status == 404)
            #expect(
                missing.golden
                    == #"{"ok":false,"operation_id":"<uuid>","error":"This path does not exist. Check its spelling.","error_code":40400}"#
            )
            let wrong = try await gateway.send("PUT", "/api/push", "{}")
            #expect(wrong.status == 405 && wrong.header("allow") == "POST")
            #expect(try wrong.integer("error_code") == 40500)
            let large = try await gateway.publish(publishText() + String(repeating: " ", count: 2 << 20))
            #expect(large.status == 413)
            #expect(try large.integer("error_code") == 41300)
            let exact = publishText()
            #expect(
                try await gateway.publish(exact + String(repeating: " ", count: (1 << 20) - exact.utf8.count)).status
                    == 202)
            #expect(
                try await gateway.publish(exact + String(repeating: " ", count: (1 << 20) - exact.utf8.count + 1))
                    .status == 413)
            let packed = try await gateway.publish(exact, headers: [("Content-Encoding", "gzip")])
            #expect(packed.status == 415)
            let long = publishText(activity: #"{"name":"\#(String(repeating: "n", count: 10_000))","event":"end"}"#)
            #expect(try await gateway.publish(long).status == 400)
            #expect(
                try await gateway.send("GET", "/api/activities/\(String(repeating: "n", count: 10_000))").status == 400)
            #expect(try await gateway.send("GET", "/api/activities/a%00b").status == 400)
            #expect(try await gateway.send("GET", "/api/push/not-an-id").status == 400)
            #expect(try await gateway.send("GET", "/api/activities?limit=0").status == 400)
            let deep = String(repeating: "[", count: 500_000)
            #expect(try await gateway.publish(deep).string("error").contains("deeper than 64"))
        }
    }

    @Test func `health, readiness and metrics need no secret`() async throws {
        try await GatewayFixture.run { gateway in
            let health = try await gateway.send("GET", "/healthz", user: nil)
            #expect(health.status == 200 && health.text == #"{"ok":true,"version":"dev"}"#)
            #expect(try await gateway.send("GET", "/readyz", user: nil).status == 200)
            _ = try await gateway.publish(publishText())
            _ = try await gateway.send("GET", "/api/push/\(UUIDBytes.random())")
            let metrics = try await gateway.send("GET", "/metrics", user: nil)
            #expect(metrics.status == 200)
            #expect(metrics.header("content-type") == "text/plain; version=0.0.4; charset=utf-8")
            #expect(
                metrics.text.contains(
                    #"lamplighter_http_requests_total{method="POST",route="/api/push",status="202"} 1"#))
            #expect(
                metrics.text.contains(
                    #"lamplighter_http_requests_total{method="GET",route="/api/push/{push_id}",status="404"} 1"#))
            #expect(
                metrics.text.contains(#"lamplighter_pushes_total{app="\#(GatewayFixture.key)",outcome="accepted"} 1"#))
            #expect(
                metrics.text.contains(
                    #"lamplighter_http_request_duration_seconds_count{method="POST",route="/api/push"} 1"#))
            #expect(metrics.text.contains("lamplighter_fleet_queue_depth{app="))
            let line = try #require(gateway.log.all.first { $0.contains("route=/api/push ") })
            #expect(
                line.contains("status=202") && line.contains("app=\(GatewayFixture.key)")
                    && line.contains("method=POST"))
        }
    }
}
