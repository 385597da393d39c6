import Curl
import LiveActivity
import StrictJSON
import TestSupport
import Testing

@testable import Console
@testable import HTTPAPI
@testable import Store

/// One decision of the console about several entries of a list, without a script.
@Suite struct ConsoleBulkTests {
    private func schedule(_ gateway: GatewayFixture, _ name: String) async throws -> String {
        let reply = try await gateway.send(
            "POST", "/api/schedules",
            #"{"schedule":{"scheduled_time":"2026-11-21T19:00:00"},"push":\#(CredentialTests.update(name))}"#)
        #expect(reply.status == 201, "\(reply.text)")
        return try reply.strings("schedule_ids")[0]
    }

    private func waiting(_ gateway: GatewayFixture) async throws -> [String] {
        let list = try await gateway.send("GET", "/api/schedules").object.required("schedules").array()
        return try list.map { try $0.object().required("push_ids").array()[0].string() }
    }

    @Test func `chosen schedules are cancelled after a question, and the answer says which were not and why`()
        async throws
    {
        try await GatewayFixture.run { gateway in
            let ids = [
                try await schedule(gateway, "match-1"), try await schedule(gateway, "match-2"),
                try await schedule(gateway, "cup-1"),
            ]
            let (browser, token) = try await ConsoleBrowser.start(gateway)
            let page = try await browser.get("/console/schedules").text
            #expect(page.contains(#"name="entry" value="\#(ids[0])" form="bulk""#), "\(page)")
            #expect(page.contains("Choose all on this page") && !page.contains(" checked>"))
            let chosen = try await browser.get("/console/schedules?choose=all").text
            #expect(chosen.split(separator: " checked>").count == 4, "each row has a checked box")
            let gone = "00000000-0000-4000-8000-000000000000"
            let fields = [("csrf", token), ("do", "cancel"), ("entry", ids[0]), ("entry", gone), ("entry", ids[0])]
            let question = try await browser.post("/console/schedules", fields)
            #expect(question.status == 200 && question.text.contains("Cancel 2 schedules?"), "\(question.text)")
            #expect(try await waiting(gateway).count == 3, "a question cancels nothing")
            let done = try await browser.post("/console/schedules", fields + [("confirmed", "yes")])
            #expect(done.text.contains("1 of 2 schedules cancelled"), "\(done.text)")
            #expect(done.text.contains(gone) && !done.text.contains(ids[0]))
            #expect(try await Set(waiting(gateway)) == Set(ids.dropFirst()))
            // All that a filter picks.
            let all = try await browser.post(
                "/console/schedules", ["csrf": token, "do": "cancel", "every": "yes", "name": "match"])
            #expect(all.text.contains("Cancel 1 schedule?") && all.text.contains(ids[1]), "\(all.text)")
            #expect(!all.text.contains(ids[2]))
            let nothing = try await browser.post("/console/schedules", ["csrf": token, "do": "cancel"])
            #expect(nothing.header("location") == "/console/schedules?notice=nothing-chosen")
        }
    }

    @Test func `a list is filtered by name and day, and its file too`() async throws {
        try await GatewayFixture.run { gateway in
            for name in ["match-1", "cup-1"] { _ = try await schedule(gateway, name) }
            let (browser, _) = try await ConsoleBrowser.start(gateway)
            let named = try await browser.get("/console/schedules?name=cup").text
            #expect(named.contains("cup-1") && !named.contains("match-1"))
            #expect(try await browser.get("/console/schedules?from=2026-11-22").text.contains("No schedule fits."))
            let file = try await browser.get("/console/schedules?name=cup&as=ndjson").text
            #expect(file.contains("cup-1") && !file.contains("match-1"))
        }
    }

    @Test func `dead letters and quarantined names are decided about together, by those who may`() async throws {
        try await GatewayFixture.run { gateway in
            let (browser, token) = try await ConsoleBrowser.start(gateway)
            let ids = (1...3).map { "0000000\($0)-0000-4000-8000-000000000000" }
            let entries = ids.map { ("entry", $0) }
            for (word, title) in [("retry", "Retry 3 dead letters"), ("drop", "Drop 3 dead letters")] {
                let fields = [("csrf", token), ("do", word)] + entries
                #expect(try await browser.post("/console/dead", fields).text.contains("\(title)?"))
                let done = try await browser.post("/console/dead", fields + [("confirmed", "yes")])
                #expect(done.text.contains("0 of 3 dead letters"), "\(done.text)")
                for id in ids { #expect(done.text.contains(id)) }
            }
            let places = [("entry", "name:match-42"), ("entry", "attributes_type:Match")]
            for word in ["release", "discard"] {
                let fields = [("csrf", token), ("do", word)] + places
                let question = try await browser.post("/console/quarantine", fields)
                #expect(question.text.contains("2 names’ tokens?"), "\(question.text)")
                let done = try await browser.post("/console/quarantine", fields + [("confirmed", "yes")])
                #expect(done.status == 200 && done.text.contains("names’ tokens \(word)"), "\(done.text)")
            }
            let secret = try await CredentialTests.create(gateway, #"{"id":"look","scopes":["read"]}"#)
            var reader = ConsoleBrowser(gateway)
            _ = try await reader.signIn(GatewayFixture.key, secret)
            _ = try await schedule(gateway, "match-1")
            #expect(!(try await reader.get("/console/schedules").text.contains("name=\"entry\"")))
        }
    }
}
