import LiveActivity
import StrictJSON
import TestSupport
import Testing

@testable import Console
@testable import HTTPAPI
@testable import Store

/// The field in the head of the console, and what the rows of its lists say.
@Suite struct ConsoleFindTests {
    @Test func `a push, a name, a device and a user lead to their pages`() async throws {
        try await GatewayFixture.run { gateway in
            for name in ["match-42", "match-43", "two%20words"] { try await gateway.follow(name) }
            let device = "5ef5f4c6-2f3c-4a44-9a5d-0c9f6f1f7a11"
            _ = try await gateway.send("PUT", "/api/channels/\(device)", #"{"channel":{"device_type":"ios"}}"#)
            let user = #"{"channel_id":"\#(device)","device_type":"ios","named_user_id":"anna"}"#
            #expect(try await gateway.send("POST", "/api/named_users/associate", user).status == 200)
            let push = try await gateway.publish(CredentialTests.update("match-42")).strings("push_ids")[0]
            let (browser, _) = try await ConsoleBrowser.start(gateway)
            let home = try await browser.get("/console").text
            #expect(home.contains(#"action="/console/names" role="search""#) && home.contains(#"name="go""#))
            for (typed, place) in [
                (push, "/console/pushes/\(push)"), ("  \(push)", "/console/pushes/\(push)"),
                ("match-42", "/console/names/match-42"), ("two words", "/console/names/two%20words"),
                (device, "/console/devices/\(device)"), ("anna", "/console/devices?user=anna"),
                ("match", "/console/names?contains=match"), ("5ef5f4c6", "/console/devices?id=5ef5f4c6"),
                ("nothing of it", "/console/names?contains=nothing%20of%20it"),
            ] {
                let reply = try await browser.get("/console/names?go=\(typed.urlComponent)")
                let location = reply.header("location")
                #expect(reply.status == 303 && location == place, "\(typed): \(location ?? reply.text)")
            }
            #expect(try await browser.get("/console/names?go=%20").status == 200)
        }
    }

    @Test func `a credential for some names finds these alone`() async throws {
        try await GatewayFixture.run { gateway in
            for name in ["match-42", "order-7"] { try await gateway.follow(name) }
            let secret = try await CredentialTests.create(
                gateway, #"{"id":"desk","scopes":["read"],"name_prefix":"match-"}"#)
            var browser = ConsoleBrowser(gateway)
            _ = try await browser.signIn(GatewayFixture.key, secret)
            func place(_ typed: String) async throws -> String? {
                try await browser.get("/console/names?go=\(typed)").header("location")
            }
            #expect(try await place("match-42") == "/console/names/match-42")
            #expect(try await place("order-7") == "/console/names?contains=order-7")
            // A reader of names completes them too.
            let names = try await browser.get("/console/compose/names?q=ma").text
            #expect(names.contains("match-42") && !names.contains("order-7"), "\(names)")
        }
    }

    @Test func `the rows of pushes, schedules and Home say the score and the alert`() async throws {
        try await GatewayFixture.run { gateway in
            try await gateway.follow("match-42")
            let push = publishText(
                activity: #"{"name":"match-42","event":"update","content_state":{"home":2,"away":0},"#
                    + #""alert":{"title":"Tor!","body":"b"}}"#)
            _ = try await gateway.publish(push)
            let time = #""schedule":{"scheduled_time":"2027-01-01T00:00:00"}"#
            #expect(try await gateway.send("POST", "/api/schedules", #"{\#(time),"push":\#(push)}"#).status == 201)
            let (browser, _) = try await ConsoleBrowser.start(gateway)
            for path in ["/console", "/console/pushes", "/console/schedules"] {
                let page = try await browser.get(path).text
                #expect(page.contains("2 : 0 · Tor!") && page.contains(">Says</th>"), "\(path): \(page)")
            }
        }
    }

    @Test func `days are of the zone in the address, and of UTC without one`() throws {
        func range(_ query: String) -> DayRange { DayRange(Form(query)) }
        let utc = range("from=2026-11-30&to=2026-11-30")
        #expect(utc.from == "2026-11-30T00:00:00" && utc.to == "2026-12-01T00:00:00")
        let auckland = range("from=2026-11-30&to=2026-11-30&zone=-780")
        #expect(auckland.from == "2026-11-29T11:00:00" && auckland.to == "2026-11-30T11:00:00")
        #expect(auckland.contains("2026-11-29T15:21:00Z") && !auckland.contains("2026-11-30T12:00:00Z"))
        #expect(auckland.shown["zoneName"] as? String == "UTC+13")
        // The clocks were put back in this range.
        let berlin = range("from=2026-10-24&to=2026-10-25&zone=-120,-60")
        #expect(berlin.from == "2026-10-23T22:00:00" && berlin.to == "2026-10-25T23:00:00")
        for wrong in ["901", "x", "1,2,3", "9223372036854775807"] {
            #expect(range("from=2026-11-30&zone=\(wrong)").from == utc.from, "\(wrong)")
        }
        #expect(range("zone=210").shown["zoneName"] as? String == "UTC-3:30")
    }

    @Test func `the pages of lists say whose days they filter by, and the log has times`() async throws {
        try await GatewayFixture.run { gateway in
            _ = try await gateway.send("POST", "/api/pause", #"{"name":"match-42"}"#)
            let (browser, _) = try await ConsoleBrowser.start(gateway)
            for path in ["pushes", "schedules", "actions", "dead"] {
                let page = try await browser.get("/console/\(path)?from=2026-11-30&zone=-780").text
                #expect(page.contains("Days are UTC+13."), "\(path): \(page)")
                #expect(page.contains("zone=-780"), "\(path): \(page)")
                #expect(try await browser.get("/console/\(path)").text.contains("Days are UTC."), "\(path)")
            }
            let log = try await browser.get("/console/actions").text
            #expect(log.contains(#"<time class="exact" datetime=""#) && log.contains(" UTC</time>"), "\(log)")
        }
    }

    @Test func `names are sorted by their last push, and by their followers`() async throws {
        try await GatewayFixture.run { gateway in
            for (name, count) in [("a", 1), ("b", 3), ("c", 2)] {
                for device in 0..<count {
                    let path = "/api/activities/\(name)/channels/phone-\(name)-\(device)"
                    _ = try await gateway.send("PUT", path, #"{"token":"aabbccddee0\#(device)"}"#)
                }
            }
            for name in ["c", "a"] { _ = try await gateway.publish(CredentialTests.update(name)) }
            let (browser, _) = try await ConsoleBrowser.start(gateway)
            func names(_ query: String) async throws -> [String] {
                let page = try await browser.get("/console/names?\(query)").text
                return page.split(separator: #"class="name title"><a href="/console/names/"#).dropFirst()
                    .map { String($0.prefix { $0 != "\"" }) }
            }
            #expect(try await names("") == ["a", "b", "c"])
            #expect(try await names("sort=followers") == ["b", "c", "a"])
            #expect(try await names("sort=last") == ["a", "c"])
            #expect(try await names("sort=last&contains=c") == ["c"])
            #expect(try await browser.get("/console/names?sort=followers&as=csv").status == 200)
        }
    }

    @Test func `a dead letter of a name with a newer push is marked, not retried, and dropped with the others`()
        async throws
    {
        try await GatewayFixture.run { gateway in
            try await gateway.follow("match-42")
            let old = try await gateway.deadLetter("match-42").description
            let other = try await gateway.deadLetter("match-43").description
            _ = try await gateway.publish(CredentialTests.update("match-42"))
            let (browser, token) = try await ConsoleBrowser.start(gateway)
            let page = try await browser.get("/console/dead").text
            #expect(page.split(separator: "replaced by a newer push").count == 2, "\(page)")
            #expect(page.contains("Drop all replaced"), "\(page)")
            let question = try await browser.post("/console/dead", ["csrf": token, "do": "drop-replaced"])
            #expect(question.text.contains("Drop 1 dead letter?") && question.text.contains(old), "\(question.text)")
            _ = try await browser.post(
                "/console/dead", ["csrf": token, "do": "drop-replaced", "entry": old, "confirmed": "yes"])
            let left = try await browser.get("/console/dead").text
            #expect(!left.contains(old) && left.contains(other), "\(left)")
        }
    }

    @Test func `an end of a name without a known state needs none`() async throws {
        try await GatewayFixture.run { gateway in
            try await gateway.follow("match-42")
            let (browser, _) = try await ConsoleBrowser.start(gateway)
            let end = try await browser.get("/console/names/match-42?event=end").text
            #expect(end.contains("spellcheck=\"false\" class=\"code\"></textarea>"), "\(end)")
        }
    }
}
