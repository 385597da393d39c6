import StrictJSON
import Testing

@testable import Console

@Suite struct ComposeTests {
    private func form(_ text: String) -> ComposeForm { ComposeForm(Form(text), now: 1_000_000_000) }

    @Test func `fields become the push that the API takes`() throws {
        let compose = form(
            "name=match-42&event=update&audience=tag&audience_value=club:gold&state=%7B%22home%22%3A1.50%7D&priority=5"
                + "&alert_title=Goal&alert_sound=on&stale_minutes=10&relevance=0.5")
        let push = try compose.push().text
        #expect(
            push
                == #"{"audience":{"tag":"gold","group":"club"},"device_types":["ios"],"notification":{"ios":{"live_activity":{"name":"match-42","event":"update","content_state":{"home":1.50},"priority":5,"alert":{"title":"Goal","sound":"default"},"stale_date":1000600,"relevance_score":0.5}}}}"#
        )
    }

    @Test(arguments: [
        ("state=%7B", "state"), ("state=%5B%5D", "state"), ("audience=user&audience_value=", "audience_value"),
        ("audience=json&audience_value=x", "audience_value"), ("stale_minutes=-1", "stale_minutes"),
        ("relevance=high", "relevance"), ("send_at=tomorrow", "send_at"),
        ("send_at=2000-12-31T00:00", "send_at"), ("send_at=2286-11-21T00:00", "send_at"), ("priority=x", "priority"),
        ("send_at=2026-11-21T19:00&zone=1441", "send_at"),
        ("send_at=2026-11-21T19:00&zone=9223372036854775807", "send_at"),
        ("send_at=2026-11-21T19:00&zone=x", "send_at"), ("stale_minutes=9223372036854775807", "stale_minutes"),
    ])
    func `a field that cannot be read is named`(text: String, field: String) {
        do throws(ComposeForm.Problem) {
            _ = try form("name=a&event=update&\(text)").push()
            Issue.record("\(text) was taken")
        } catch {
            #expect(error.field == field)
        }
    }

    @Test func `a time in the browser's zone is sent in UTC`() throws {
        let compose = form("send_at=2026-11-21T19:00&zone=-60")
        #expect(try compose.sendAt() == 1_795_284_000_000)
        #expect(try form("send_at=2026-11-21T18:00").sendAt() == 1_795_284_000_000)
    }

    @Test func `fields of a schema change the content state, and the rest of it stays`() throws {
        let schema = try JSONDocument(
            #"{"type":"object","required":["home"],"properties":{"home":{"type":"integer"},"phase":{"enum":["first","second"]},"over":{"type":"boolean"},"note":{"type":"string"}}}"#
        ).root.object()
        let fields = try #require(SchemaFields(type: "Match", schema: schema))
        let state = #"{"home":0,"extra":{"a":[1]},"note":"x"}"#
        var form = Form()
        (form["state"], form["state_before"]) = (state, state)
        (form["f:home"], form["f:phase"], form["f:over"], form["f:note"]) = ("1", "second", "true", "")
        let applied = try JSONDocument(try #require(fields.applied(form))).root.object()
        #expect(applied.members.map(\.key) == ["home", "extra", "phase", "over"])
        #expect(try applied["home"]?.integer() == 1 && applied["over"]?.bool() == true)
        #expect(applied.text("phase") == "second")
        form["state"] = #"{"home":7}"#
        #expect(fields.applied(form) == nil, "whoever edits the JSON means the JSON")
    }

    @Test func `a card shows the score, the rest below it, and the progress`() throws {
        let state = try JSONDocument(#"{"home":1,"away":0,"minutesLeft":12,"progress":0.4,"deep":{"a":1}}"#).root
        let card = Card(app: "demo", name: "match-42", state: state).values
        #expect(card["headline"] as? String == "1 : 0" && card["progress"] as? Int == 40)
        let details = try #require(card["details"] as? [[String: Any]])
        #expect(details.map { $0["key"] as? String } == ["minutes left", "deep"])
    }

    @Test(arguments: ["https://evil.example", "//evil.example", "/console\\evil", "/api/push", "/console/sign-out", ""])
    func `signing in leads to a page of the console and nowhere else`(next: String) {
        #expect(Console.next(next) == "/console")
        #expect(Console.next("/console/names/a%20b") == "/console/names/a%20b")
    }
}

/// Tests numbers at the edges of their types. An overflow would end the process.
@Suite struct EdgeNumberTests {
    @Test(arguments: ["9223372036854775807", "-9223372036854775808", "1086401", "x", "", "0"])
    func `minutes count from now if the form's own moment is not within a day`(at: String) throws {
        #expect(ComposeForm(Form("at=\(at)&stale_minutes=1"), now: 1_000_000_000).now == 1_000_000)
        #expect(ComposeForm(Form("at=1086400"), now: 1_000_000_000).now == 1_086_400)
    }

    @Test func `a time from the edge of a number is still a time ago`() {
        #expect(Shown.ago(.min, 1_000) == "213503982334 d ago")
        #expect(Shown.ago(.max, -1_000).hasPrefix("in 2"))
        #expect(Shown.ago(1_000, 11_000) == "10 s ago" && Shown.ago(11_000, 1_000) == "in 10 s")
    }

    @Test func `an estimate of a large number has two digits`() {
        #expect(Shown.estimate(1 << 53) == "about 9,000,000,000,000,000")
    }
}
