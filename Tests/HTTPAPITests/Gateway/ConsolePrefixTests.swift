import LiveActivity
import StrictJSON
import TestSupport
import Testing

@testable import Console
@testable import HTTPAPI
@testable import Store

/// A credential for some names sees all that belongs to these, and nothing of others.
@Suite struct ConsolePrefixTests {
    static let own = "match-1"
    static let foreign = "order-7"

    struct World {
        var gateway: GatewayFixture
        var browser: ConsoleBrowser
        var csrf: String
        var user: String
        /// A push, a dead letter and a schedule of the foreign name.
        var push: String
        var letter: String
        var schedule: String

        func api(_ path: String) async throws -> Reply { try await gateway.send("GET", path, user: user) }
    }

    private static func later(_ name: String) -> String {
        let push = CredentialTests.update(name)
        return #"{"schedule":{"scheduled_time":"2027-01-01T00:00:00"},"push":\#(push)}"#
    }

    /// Two names with the same things each; a credential for one of them.
    func run(_ body: @escaping @Sendable (World) async throws -> Void) async throws {
        try await GatewayFixture.run { gateway in
            var (pushes, letters, schedules) = ([String](), [String](), [String]())
            // The own ones are the newest, so a place behind the others would leave them out.
            for name in [Self.foreign, Self.own] {
                try await gateway.follow(name)
                letters.append("\(try await gateway.deadLetter(name))")
                pushes.append(try await gateway.publish(CredentialTests.update(name)).strings("push_ids")[0])
                let made = try await gateway.send("POST", "/api/schedules", Self.later(name))
                schedules.append(try made.strings("schedule_ids")[0])
                let ended = try await gateway.send("POST", "/api/schedules", Self.later(name))
                let over = try ended.strings("schedule_ids")[0]
                #expect(try await gateway.send("DELETE", "/api/schedules/\(over)").status == 204)
            }
            let secret = try await CredentialTests.create(
                gateway, #"{"id":"m","scopes":["publish","read","operate"],"name_prefix":"match-"}"#)
            var browser = ConsoleBrowser(gateway)
            _ = try await browser.signIn(GatewayFixture.key, secret)
            try await body(
                World(
                    gateway: gateway, browser: browser, csrf: try await browser.formToken(),
                    user: "\(GatewayFixture.key):\(secret)", push: pushes[0], letter: letters[0],
                    schedule: schedules[0]))
        }
    }

    @Test func `each page shows what belongs to its names, and no other name, id or count`() async throws {
        try await run { world in
            for path in [
                "", "/pushes", "/names", "/schedules", "/schedules?state=finished", "/dead",
                "/names?contains=r", "/names?contains=order", "/pushes?state=queued",
                "/compose/names?q=order",
            ] {
                let page = try await world.browser.get("/console\(path)")
                #expect(page.status == 200, "\(path): \(page.text)")
                for secret in [Self.foreign, world.push, world.letter, world.schedule] {
                    #expect(!page.text.contains(secret), "\(path) shows \(secret): \(page.text)")
                }
                if !path.contains("order") && !path.contains("contains") {
                    #expect(page.text.contains(Self.own), "\(path): \(page.text)")
                }
            }
            #expect(try await world.browser.get("/console/dead").text.contains("1 push in all"))
            let home = try await world.browser.get("/console").text
            let hidden = ["Pause the app", "Quarantine", "badge"].filter(home.contains)
            #expect(hidden.isEmpty, "\(home)")
        }
    }

    @Test func `the files of the lists, and the lists of the API, hold the own entries alone`() async throws {
        try await run { world in
            for path in ["/pushes", "/names", "/schedules", "/dead"] {
                for form in ["csv", "ndjson"] {
                    let file = try await world.browser.get("/console\(path)?as=\(form)").text
                    #expect(file.contains(Self.own) && !file.contains(Self.foreign), "\(path) \(form): \(file)")
                }
            }
            let schedules = try await world.api("/api/schedules")
            #expect(try schedules.integer("total_count") == 1 && schedules.integer("count") == 1)
            #expect(try await world.api("/api/schedules?state=finished").integer("total_count") == 1)
            #expect(try await world.api("/api/dead").integer("total") == 1)
            let history = try await world.api("/api/pushes").text
            #expect(!history.contains(#""total""#) && !history.contains(Self.foreign), "\(history)")
            #expect(try await world.api("/api/activities?prefix=m").text.contains(Self.own))
            #expect(try await world.api("/api/activities?prefix=match-2").text.contains(#""activities":[]"#))
            #expect(try await world.api("/api/activities?prefix=order").status == 403)
        }
    }

    @Test func `an id of another name opens nothing, and a position there tells nothing`() async throws {
        try await run { world in
            let (push, letter, schedule) = (world.push, world.letter, world.schedule)
            for path in ["/pushes/\(push)", "/pushes/\(push)/live", "/pushes/\(letter)", "/pushes/\(schedule)"] {
                #expect(try await world.browser.get("/console\(path)").status == 404, "\(path)")
            }
            for (id, act) in [
                (letter, "drop"), (letter, "retry"), (schedule, "unschedule"), (schedule, "undo"), (schedule, "now"),
                (schedule, "mine"),
            ] {
                let reply = try await world.browser.post(
                    "/console/pushes/\(id)", ["csrf": world.csrf, "do": act, "confirmed": "yes"])
                #expect(reply.status == 404, "\(act): \(reply.status)")
            }
            #expect(try await world.gateway.send("GET", "/api/dead").integer("total") == 2)
            // A guessed id gives the same page as one that does not exist.
            let unknown = "9d78a53b-b16a-4c58-b78d-181d5e242078"
            for path in ["/api/dead?after=", "/api/schedules?start=", "/api/schedules?state=finished&start="] {
                let (guessed, none) = (try await world.api(path + letter), try await world.api(path + unknown))
                #expect(guessed.text == none.text, "\(path): \(guessed.text)")
            }
            #expect(try await world.api("/api/schedules?start=\(schedule)").text == world.api("/api/schedules").text)
        }
    }

    @Test func `Compose has the fields of the schema for them too`() async throws {
        try await run { world in
            let schema =
                #"{"names":["match-*"],"content_state":{"type":"object","properties":{"home":{"type":"integer","title":"Goals"}}}}"#
            #expect(try await world.gateway.send("PUT", "/api/schemas/Match", schema).status == 200)
            let compose = try await world.browser.get("/console/names/\(Self.own)").text
            #expect(compose.contains("The fields of Match") && compose.contains(">Goals"), "\(compose)")
        }
    }

    @Test func `the page of a push says why one device would miss the next one`() async throws {
        try await run { world in
            let page = try await world.browser.get("/console/pushes").text
            let start = try #require(page.firstRange(of: "/console/pushes/01")).lowerBound
            let path = String(page[start...].prefix { $0 != "\"" })
            let asked = try await world.browser.get("\(path)?device=nobody").text
            #expect(asked.contains("It would not get the next update of"), "\(asked)")
            #expect(try await world.browser.get("/console/devices/nobody?name=\(Self.own)").status == 403)
        }
    }

    @Test func `templates of other names are neither shown nor replaced`() async throws {
        try await run { world in
            func keep(_ browser: ConsoleBrowser, _ csrf: String, _ title: String, _ name: String) async throws -> Reply
            {
                let form = [
                    ("csrf", csrf), ("action", "keep"), ("template_title", title), ("name", name),
                    ("event", "update"), ("state", "{}"),
                ]
                return try await browser.post("/console/compose", form)
            }
            var master = ConsoleBrowser(world.gateway)
            _ = try await master.signIn()
            _ = try await keep(master, try await master.formToken(), "Parcel", Self.foreign)
            #expect(try await keep(world.browser, world.csrf, "Goal", Self.own).status == 303)
            let list = try await world.browser.get("/console/templates").text
            #expect(list.contains("Goal") && !list.contains("Parcel"), "\(list)")
            let compose = try await world.browser.get("/console/compose?template=Parcel").text
            #expect(!compose.contains(Self.foreign))
            #expect(try await keep(world.browser, world.csrf, "Parcel", Self.own).status == 403)
            #expect(try await keep(world.browser, world.csrf, "Mine", Self.foreign).status == 403)
            let drop = try await world.browser.post(
                "/console/templates/drop", ["csrf": world.csrf, "template_title": "Parcel", "confirmed": "yes"])
            #expect(drop.status == 404)
            #expect(try await master.get("/console/templates").text.contains("Parcel"))
        }
    }

    @Test func `alarms of the app are told without the reason, which may name others`() async throws {
        try await run { world in
            let reason = "push of \(Self.foreign) expired; see `lamplighter dead list`"
            try await world.gateway.store.alarms.raise(try world.gateway.app, .expired, reason)
            for path in ["", "/alarms", "/pushes"] {
                let page = try await world.browser.get("/console\(path)").text
                #expect(page.contains("Expired pushes") && !page.contains(Self.foreign), "\(path): \(page)")
            }
            try await world.gateway.store.alarms.raise(try world.gateway.app, .credentials, reason)
            let explained = try await world.api("/api/activities/\(Self.own)/channels/c").text
            #expect(explained.contains("Alarm credentials.") && !explained.contains(Self.foreign), "\(explained)")
            let all = try await world.gateway.send("GET", "/api/activities/\(Self.own)/channels/c").text
            #expect(all.contains("Alarm credentials: \(reason)."), "\(all)")
            #expect(try await !world.browser.get("/console/alarms").text.contains("Mark as known"))
            let known = try await world.browser.post(
                "/console/alarms", ["csrf": world.csrf, "kind": "expired", "to": "known"])
            #expect(known.status == 403)
        }
    }
}
