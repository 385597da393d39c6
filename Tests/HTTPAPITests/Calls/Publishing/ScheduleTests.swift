import LiveActivity
import OpenSSL
import Redis
import StrictJSON
import TestSupport
import Testing

@testable import HTTPAPI
@testable import Store

/// Tests `POST`, `GET`, `PUT` and `DELETE /api/schedules` as Airship's clients use them.
@Suite struct ScheduleTests {
    private func text(_ time: String, push: String = publishText(), more: String = "") -> String {
        #"{"schedule":{"scheduled_time":"\#(time)"},"push":\#(push)\#(more)}"#
    }

    @Test func `a schedule is created, shown, listed and deleted`() async throws {
        try await GatewayFixture.run { gateway in
            let push = publishText()
            let created = try await gateway.send(
                "POST", "/api/schedules", text("2026-11-21T19:00:00", push: push, more: #","name":"kick-off""#))
            #expect(created.status == 201)
            #expect(created.header("content-type") == Answer.airshipType)
            let origin = "http://127.0.0.1:\(gateway.port)"
            let shown =
                #"{"url":"\#(origin)/api/schedules/<uuid>","schedule":{"scheduled_time":"2026-11-21T19:00:00"},"#
                + #""name":"kick-off","push":\#(push),"push_ids":["<uuid>"],"state":"scheduled","#
                + #""by":{"credential":"master","address":"127.0.0.1"}}"#
            #expect(
                created.golden == #"{"ok":true,"operation_id":"<uuid>","#
                    + #""schedule_urls":["\#(origin)/api/schedules/<uuid>"],"schedule_ids":["<uuid>"],"#
                    + #""schedules":[\#(shown)]}"#)
            let id = try created.strings("schedule_ids")[0]

            #expect(try await gateway.send("GET", "/api/schedules/\(id)").golden == shown)
            let list = try await gateway.send("GET", "/api/schedules/")
            #expect(list.golden == #"{"ok":true,"count":1,"total_count":1,"schedules":[\#(shown)]}"#)
            let ledger = try await gateway.send("GET", "/api/push/\(id)")
            #expect(try ledger.string("state") == "scheduled" && ledger.integer("targets") == 0)
            #expect(try await gateway.send("GET", "/api/schedules/\(id)", user: "other-app:other-m").status == 404)

            let deleted = try await gateway.send("DELETE", "/api/schedules/\(id)")
            #expect(deleted.status == 204 && deleted.text.isEmpty)
            #expect(try await gateway.send("DELETE", "/api/schedules/\(id)").status == 204)
            #expect(try await gateway.send("GET", "/api/schedules/\(id)").string("state") == "cancelled")
            #expect(try await gateway.send("GET", "/api/push/\(id)").string("state") == "cancelled")
            #expect(try await gateway.send("GET", "/api/schedules").integer("total_count") == 0)
            #expect(try await gateway.send("GET", "/api/schedules/\(PushID.random())").status == 404)
            #expect(try await gateway.send("DELETE", "/api/schedules/\(PushID.random())").status == 404)
            #expect(try await gateway.send("GET", "/api/schedules/x").status == 400)
        }
    }

    @Test func `a schedule for both platforms goes out as one push for both`() async throws {
        try await GatewayFixture.run(configure: { $0.apps[0].platforms = [.ios, .android] }) { gateway in
            let push =
                #"{"audience":"all","device_types":["ios","android"],"notification":{"ios":{"live_activity":{"name":"match-42","event":"update","content_state":{"n":1}}},"android":{"live_update":{"name":"match-42","event":"update","content_state":{"n":2}}}}}"#
            let created = try await gateway.send("POST", "/api/schedules", text("2026-11-21T19:00:00", push: push))
            let id = try #require(PushID(try created.strings("schedule_ids")[0]), "\(created.text)")
            let runs = try await gateway.store.schedules.runDue(try gateway.app, limit: 10)
            #expect(runs.count == 1)
            let name = try ActivityName("match-42")
            let record = try #require(try await gateway.store.sweeps.records(try gateway.app, name, [id])[id])
            #expect(record.contents[.android]?.contentState?.bytes == Array(#"{"n":2}"#.utf8))
            #expect(String(decoding: record.payload, as: UTF8.self).contains(#""content-state":{"n":1}"#))
            let ledger = try await gateway.send("GET", "/api/push/\(id)").object
            #expect(ledger.object("platforms")?.members.map(\.key) == ["ios", "android"])
        }
    }

    @Test func `finished schedules are listed apart`() async throws {
        try await GatewayFixture.run { gateway in
            var ids: [String] = []
            for _ in 0..<3 {
                ids += try await gateway.send("POST", "/api/schedules", text("2026-11-21T19:00:00"))
                    .strings("schedule_ids")
            }
            for id in ids.dropFirst() { _ = try await gateway.send("DELETE", "/api/schedules/\(id)") }
            func list(_ query: String) async throws -> Reply {
                let reply = try await gateway.send("GET", "/api/schedules?\(query)")
                try #require(reply.status == 200, "\(reply.text)")
                return reply
            }
            #expect(try await list("state=scheduled").integer("count") == 1)
            let first = try await list("state=finished&limit=1")
            #expect(try first.integer("total_count") == 2)
            #expect(first.text.contains(#""state":"cancelled","finished_at":"20"#), "\(first.text)")
            let next = try first.string("next_page")
            #expect(next.contains("state=finished"))
            let path = try #require(next.firstRange(of: "/api/")).lowerBound
            let second = try await gateway.send("GET", String(next[path...]))
            #expect(try second.integer("count") == 1 && second.object["next_page"] == nil)
            #expect(try await gateway.send("GET", "/api/schedules?state=sent").status == 400)
        }
    }

    @Test func `schedules that failed are listed alone`() async throws {
        try await GatewayFixture.run { gateway in
            try await gateway.follow("order-1")
            let stale = text("2026-11-21T19:00:00", push: publishText(tail: #","options":{"after":"none"}"#))
            let id = try await gateway.send("POST", "/api/schedules", stale).strings("schedule_ids")[0]
            for _ in 0..<3 {
                let other = try await gateway.send("POST", "/api/schedules", text("2026-11-21T19:00:00"))
                let gone = try other.strings("schedule_ids")[0]
                #expect(try await gateway.send("DELETE", "/api/schedules/\(gone)").status == 204)
            }
            #expect(try await gateway.publish(publishText()).status == 202)
            let runs = try await gateway.store.schedules.runDue(try gateway.app, limit: 10)
            #expect(runs.map(\.outcome) == [.failed("Conflict")])
            for query in ["state=failed", "state=failed&name=order-1", "state=failed&name=order-1&limit=1"] {
                let found = try await gateway.send("GET", "/api/schedules?\(query)")
                #expect(
                    try found.integer("count") == 1 && found.text.contains(#""push_ids":["\#(id)"]"#), "\(found.text)")
                #expect(
                    found.text.contains(#""reason":"Conflict""#) && found.text.contains(#""by":{"credential":"master""#)
                )
            }
            #expect(try await gateway.send("GET", "/api/schedules?state=failed&name=order-2").integer("count") == 0)
            #expect(try await gateway.send("GET", "/api/schedules?state=finished").integer("count") == 4)
        }
    }

    @Test func `schedules of one name are found behind a hundred of others`() async throws {
        try await GatewayFixture.run { gateway in
            func publish(_ name: String) -> String {
                publishText(activity: #"{"name":"\#(name)","event":"update","content_state":{"n":1}}"#)
            }
            let own = publish("match-7")
            for push in [publish("match-70"), own, publish("match-7 ")] {
                let later = push == own ? "2026-11-21T20:00:00" : "2026-11-21T19:00:00"
                let many = Array(repeating: text(later, push: push), count: push == own ? 2 : 60)
                let created = try await gateway.send("POST", "/api/schedules", "[\(many.joined(separator: ","))]")
                guard push == own else { continue }
                let id = try created.strings("schedule_ids")[0]
                #expect(try await gateway.send("DELETE", "/api/schedules/\(id)").status == 204)
            }
            func list(_ query: String) async throws -> Reply {
                try await gateway.send("GET", "/api/schedules?name=match-7&\(query)")
            }
            let waiting = try await list("state=scheduled&limit=5")
            #expect(try waiting.integer("count") == 1 && waiting.integer("total_count") == 1, "\(waiting.text)")
            #expect(waiting.text.contains(#""name":"match-7""#) && !waiting.text.contains("next_page"))
            let finished = try await list("state=finished")
            #expect(try finished.integer("count") == 1 && finished.text.contains(#""state":"cancelled""#))
            let none = try await gateway.send("GET", "/api/schedules?name=match-8")
            #expect(try none.integer("count") == 0)
            #expect(try await gateway.send("GET", "/api/schedules?name=").status == 400)
        }
    }

    @Test func `schedules of the same time go out in the order in which they were created`() async throws {
        try await GatewayFixture.run { gateway in
            var ids: [String] = []
            for _ in 0..<3 {
                let request = Array(repeating: text("2026-11-21T19:00:00"), count: 5).joined(separator: ",")
                let created = try await gateway.send("POST", "/api/schedules", "[\(request)]")
                ids += try created.strings("schedule_ids")
                // The next request comes in another millisecond.
                let now = gateway.store.time.now()
                try await eventually("another millisecond") { gateway.store.time.now() > now }
            }
            let runs = try await gateway.store.schedules.runDue(try AppKey(GatewayFixture.key), limit: 100)
            #expect(runs.map(\.id.description) == ids && ids.count == 15)
        }
    }

    @Test func `a schedule that waits is replaced under its id`() async throws {
        try await GatewayFixture.run { gateway in
            let first = try await gateway.send(
                "POST", "/api/schedules", text("2026-11-21T19:00:00", more: #","name":"kick-off""#))
            let id = try first.strings("schedule_ids")[0]
            let push = publishText().replacing("update", with: "end")
            let body = text("2026-11-21T20:00:00", push: push)
            let replaced = try await gateway.send("PUT", "/api/schedules/\(id)", body)
            #expect(replaced.status == 200 && replaced.header("content-type") == Answer.airshipType)
            let origin = "http://127.0.0.1:\(gateway.port)"
            let shown =
                #"{"url":"\#(origin)/api/schedules/<uuid>","schedule":{"scheduled_time":"2026-11-21T20:00:00"},"#
                + #""push":\#(push),"push_ids":["<uuid>"],"state":"scheduled","#
                + #""by":{"credential":"master","address":"127.0.0.1"}}"#
            #expect(
                replaced.golden == #"{"ok":true,"operation_id":"<uuid>","#
                    + #""schedule_urls":["\#(origin)/api/schedules/<uuid>"],"schedule_ids":["<uuid>"],"#
                    + #""schedules":[\#(shown)]}"#)
            #expect(try replaced.strings("schedule_ids")[0] == id)
            #expect(try await gateway.send("GET", "/api/schedules/\(id)").golden == shown)
            #expect(try await gateway.send("GET", "/api/schedules").integer("total_count") == 1)

            let wrong: [(String, Int)] = [
                (#"{"schedule":{"scheduled_time":"2026-11-21T20:00:00"}}"#, 400), ("[\(body)]", 400),
                (text("2025-01-01T00:00:00"), 400), (#"{"push":\#(push)}"#, 400),
            ]
            for (body, status) in wrong {
                #expect(try await gateway.send("PUT", "/api/schedules/\(id)", body).status == status, "\(body)")
            }
            #expect(try await gateway.send("GET", "/api/schedules/\(id)").golden == shown, "a mistake changes nothing")
            #expect(try await gateway.send("PUT", "/api/schedules/\(PushID.random())", body).status == 404)
            let stranger = try await gateway.send("PUT", "/api/schedules/\(id)", body, user: "other-app:other-m")
            #expect(stranger.status == 404)
            _ = try await gateway.send("DELETE", "/api/schedules/\(id)")
            #expect(try await gateway.send("PUT", "/api/schedules/\(id)", body).status == 409)
        }
    }

    @Test func `cancelling the push deletes its schedule`() async throws {
        try await GatewayFixture.run { gateway in
            let created = try await gateway.send("POST", "/api/schedules", text("2026-11-21T19:00:00Z"))
            let id = try created.strings("schedule_ids")[0]
            let ledger = try await gateway.send("DELETE", "/api/push/\(id)")
            #expect(ledger.status == 200)
            #expect(try ledger.string("state") == "cancelled")
            #expect(try await gateway.send("GET", "/api/schedules").integer("total_count") == 0)
        }
    }

    @Test func `a list has pages, and each says where the next one is`() async throws {
        try await GatewayFixture.run { gateway in
            let all = (10..<15).map { text("2026-11-21T19:\($0):00") }.joined(separator: ",")
            #expect(try await gateway.send("POST", "/api/schedules", "[\(all)]").status == 201)
            var path: String? = "/api/schedules?limit=2"
            var times: [String] = []
            var pages = 0
            while let next = path, pages < 5 {
                pages += 1
                let page = try await gateway.send("GET", next, headers: [("X-Forwarded-Proto", "https")])
                #expect(try page.integer("total_count") == 5)
                for schedule in try page.object.required("schedules").array() {
                    times.append(
                        try schedule.object().required("schedule").object().required("scheduled_time").string())
                }
                let link = try page.object["next_page"]?.string()
                let origin = "https://127.0.0.1:\(gateway.port)"
                #expect(link?.hasPrefix(origin) ?? true)
                path = link.map { String($0.dropFirst(origin.utf8.count)) }
            }
            #expect(pages == 3)
            #expect(times == (10..<15).map { "2026-11-21T19:\($0):00" })
            #expect(try await gateway.send("GET", "/api/schedules?limit=0").status == 400)
            #expect(try await gateway.send("GET", "/api/schedules?start=x").status == 400)
        }
    }

    @Test(arguments: [
        ("2026-11-21T19:00:00", "2026-11-21T19:00:00"), ("2026-11-21T19:00:00Z", "2026-11-21T19:00:00"),
        ("2026-11-21T19:00:00.250Z", "2026-11-21T19:00:00"), ("2026-11-21 19:00:00", "2026-11-21T19:00:00"),
        ("2026-11-21T20:30:00+01:30", "2026-11-21T19:00:00"), ("2026-11-21T11:00:00-0800", "2026-11-21T19:00:00"),
        ("2026-11-22T04:00:00+09", "2026-11-21T19:00:00"), ("2026-11-21T17:59:00", "2026-11-21T17:59:00"),
    ])
    func `times are UTC unless they say otherwise`(written: String, utc: String) throws {
        let scheduled = try ScheduleBody.parse(Array(text(written).utf8), now: testNow)[0]
        #expect(TimeText.plainText(scheduled.due) == utc && scheduled.past == nil)
    }

    @Test(arguments: [
        ("2026-11-21T17:58:59", "schedule.scheduled_time: is in the past: it is 2026-11-21T18:00:00"),
        ("2027-11-23T19:00:00", "schedule.scheduled_time: must not be more than 366 days ahead"),
        ("2026-02-30T19:00:00", "must be a time such as"), ("18:00", "must be a time such as"),
        ("2026-11-21T19:00:00+25:00", "must be a time such as"), ("2026-11-21T19:00:00+1", "must be a time such as"),
    ])
    func `times that cannot be meant are refused`(written: String, problem: String) async throws {
        try await GatewayFixture.run { gateway in
            let reply = try await gateway.send("POST", "/api/schedules", text(written))
            #expect(reply.status == 400)
            #expect(try reply.string("error").contains(problem), "\(reply.text)")
            #expect(try await gateway.store.redis.keyCount() == 0)
        }
    }

    @Test func `what Airship can and a Live Activity cannot is refused by its name`() throws {
        for schedule in [
            #"{"local_scheduled_time":"2026-11-21T19:00:00"}"#, #"{"best_time":{"send_date":"2026-11-21"}}"#,
            #"{"scheduled_time":"2026-11-21T19:00:00","recurring":{}}"#,
        ] {
            let body = #"{"schedule":\#(schedule),"push":\#(publishText())}"#
            #expect { try ScheduleBody.parse(Array(body.utf8), now: testNow) } throws: { error in
                (error as? JSONError)?.message.contains("is not supported: give the one moment") == true
            }
        }
    }

    /// The push inside is checked as if it were published at its scheduled time.
    @Test func `the push is checked for its time, with its place in the body`() throws {
        let expired = text(
            "2026-11-21T19:00:00",
            push: publishText(
                activity: #"{"name":"n","event":"update","content_state":{},"stale_date":1795287000}"#,
                tail: #","options":{"expiry":60}"#))
        let scheduled = try ScheduleBody.parse(Array(expired.utf8), now: testNow)[0]
        #expect(
            scheduled.push.warnings == [
                "push.notification.ios.live_activity.stale_date is in the past: devices show the state as stale at once"
            ])
        #expect(scheduled.push.publish.options.expiry == 1_795_284_000 + 3_600 + 60, "seconds count from its time")
        let wrong = text(
            "2026-11-21T19:00:00", push: publishText(activity: #"{"name":"n","event":"update","content_state":7}"#))
        #expect {
            try ScheduleBody.parse(Array("[\(text("2026-11-21T19:00:00")),\(wrong)]".utf8), now: testNow)
        } throws: {
            ($0 as? JSONError)?.path == "[1].push.notification.ios.live_activity.content_state"
        }
    }

    /// `dismissal_date` in seconds after the present; the end is scheduled for an hour later.
    @Test(arguments: [(-60, false), (0, true), (3_540, true), (3_600, false), (7_200, false)])
    func `an end whose card would have left before its time brings a warning`(dismissal: Int, isWarned: Bool) throws {
        let activity = #"{"name":"n","event":"end","dismissal_date":\#(1_795_284_000 + dismissal)}"#
        let body = text("2026-11-21T19:00:00", push: publishText(activity: activity))
        let scheduled = try ScheduleBody.parse(Array(body.utf8), now: testNow)[0]
        #expect(scheduled.push.warnings.contains { $0.contains("before the scheduled time") } == isWarned)
        #expect(scheduled.push.publish.dismissalDate == 1_795_284_000 + dismissal)
    }

    @Test func `a repetition of what was taken is no error after the time`() async throws {
        try await GatewayFixture.run { gateway in
            let body = text("2026-11-21T17:00:00")
            let id = PushID.random()
            _ = try await gateway.store.pushes.reserve(
                gateway.app, idempotencyKey: "k", bodyDigest: Array(SHA256Digest(of: body.utf8)), ids: [id])
            let key = [("Idempotency-Key", "k")]
            #expect(try await gateway.send("POST", "/api/schedules", body, headers: key).status == 400)
            var early = try ScheduleBody.parse(Array(body.utf8), now: testNow - 7_200_000)
            let push = early.removeFirst()
            _ = try await gateway.store.schedules.create(
                gateway.app,
                [
                    Schedule(
                        id: id, publish: push.push.publish, payload: push.push.payload, timestampOffset: 20,
                        due: push.due, createdAt: testNow)
                ])
            #expect(try await gateway.send("POST", "/api/schedules", body, headers: key).status == 201)
            #expect(try await gateway.send("POST", "/api/schedules", body).status == 400)
        }
    }

    /// A worker that dies between claim and commit leaves the schedule so until another one claims it.
    @Test func `a push that a worker has taken up is not called cancelled before its commit`() async throws {
        try await GatewayFixture.run { gateway in
            let made = try await gateway.send("POST", "/api/schedules", text("2026-11-21T19:00:00"))
            let id = try made.strings("schedule_ids")[0]
            let record = gateway.store.keys.schedule(try gateway.app, try #require(PushID(id)))
            try await gateway.store.redis.run("HSET", record, "state", "taken")
            let refused = try await gateway.send("DELETE", "/api/push/\(id)")
            #expect(refused.status == 409 && refused.text.contains("nothing was cancelled"), "\(refused.text)")
            #expect(try await gateway.send("GET", "/api/push/\(id)").string("state") == "scheduled")
            // Its commit was refused since.
            try await gateway.store.redis.run("HSET", record, "state", "failed", "reason", "NameEnded")
            #expect(try await gateway.send("DELETE", "/api/push/\(id)").string("state") == "failed")
        }
    }

    @Test func `an idempotency key makes a repetition harmless`() async throws {
        try await GatewayFixture.run { gateway in
            let key = [("Idempotency-Key", "kick-off")]
            let body = text("2026-11-21T18:00:10")
            let first = try await gateway.send("POST", "/api/schedules", body, headers: key)
            let again = try await gateway.send("POST", "/api/schedules", body, headers: key)
            #expect(first.status == 201 && again.status == 201)
            #expect(
                try first.object.required("schedule_ids").raw.elementsEqual(again.object.required("schedule_ids").raw))
            #expect(try await gateway.send("GET", "/api/schedules").integer("total_count") == 1)
            #expect(
                try await gateway.send("POST", "/api/schedules", text("2026-11-21T18:00:11"), headers: key).status
                    == 409)
        }
    }

    @Test func `a repetition shows the schedule as it stands`() async throws {
        try await GatewayFixture.run { gateway in
            func create() async throws -> Reply {
                let key = [("Idempotency-Key", "kick-off")]
                return try await gateway.send("POST", "/api/schedules", text("2026-11-21T19:00:00"), headers: key)
            }
            let id = try await create().strings("schedule_ids")[0]
            _ = try await gateway.send("PUT", "/api/schedules/\(id)", text("2026-11-21T20:00:00"))
            let replaced = try await create()
            #expect(replaced.status == 201 && replaced.text.contains("2026-11-21T20:00:00"), "\(replaced.text)")
            _ = try await gateway.send("DELETE", "/api/schedules/\(id)")
            let deleted = try await create()
            #expect(deleted.status == 201)
            let shown = try await gateway.send("GET", "/api/schedules/\(id)").text
            #expect(shown.contains(#""state":"cancelled""#) && deleted.text.contains(shown), "\(deleted.text)")
            #expect(try await gateway.send("GET", "/api/schedules").integer("total_count") == 0)
        }
    }
}
