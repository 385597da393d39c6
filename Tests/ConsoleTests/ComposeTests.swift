import Answers
import LiveActivity
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

    @Test func `an app with both platforms gets one state for both`() throws {
        let compose = form("name=match-42&event=end&state=%7B%22home%22%3A1.50%7D&priority=5&dismissal_minutes=0")
        #expect(
            try compose.push(on: [.ios, .android]).text
                == #"{"audience":"all","device_types":["ios","android"],"notification":{"ios":{"live_activity":{"name":"match-42","event":"end","content_state":{"home":1.50},"priority":5,"dismissal_date":0}},"android":{"live_update":{"name":"match-42","event":"end","content_state":{"home":1.50},"dismissal_date":0},"delivery_priority":"normal"}}}"#
        )
        #expect(try form("name=a&event=start&attributes_type=T").push(on: [.android]).text.contains(#""type":"T""#))
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

    @Test(arguments: ["ios_channel", "android_channel"])
    func `one device is one of any platform`(key: String) throws {
        let copy = try sent(
            #"{"aps":{"timestamp":1000000,"event":"update","content-state":{}}}"#, #"{"\#(key)":"a-1"}"#)
        #expect(copy.form["audience"] == "device" && copy.form["audience_value"] == "a-1")
        #expect(try ComposeForm(copy.form, now: 1).audience().text == #"{"channel":"a-1"}"#)
    }

    /// Each of them makes the audience that it is a copy of.
    @Test(arguments: [
        (#""all""#, "all", ""), (#"{"tag":"gold","group":"club"}"#, "tag", "club:gold"),
        (#"{"tag":"gold"}"#, "tag", "gold"),
        (#"{"named_user":"ann"}"#, "user", "ann"),
        (#"{"channel":"6f3ab9d2-5a4e-4a1c-9a51-5d4c2b1e0f77"}"#, "device", "6f3ab9d2-5a4e-4a1c-9a51-5d4c2b1e0f77"),
        (#"{"tag":"a:b"}"#, "json", #"{"tag":"a:b"}"#),
        (#"{"tag":"b","group":"a:"}"#, "json", #"{"tag":"b","group":"a:"}"#),
        (#"{"or":[{"tag":"a"},{"tag":"b"}]}"#, "json", #"{"or":[{"tag":"a"},{"tag":"b"}]}"#),
        (#"{"not":{"tag":"a"}}"#, "json", #"{"not":{"tag":"a"}}"#),
    ])
    func `a copy is for the same audience`(audience: String, choice: String, value: String) throws {
        let copy = try sent(#"{"aps":{"timestamp":1000000,"event":"update","content-state":{}}}"#, audience)
        #expect(copy.form["audience"] == choice && copy.form["audience_value"] == value)
        #expect(try ComposeForm(copy.form, now: 1).audience().text == audience)
    }

    @Test func `a copy of a push for one platform is for that platform`() throws {
        let payload = #"{"aps":{"timestamp":1000000,"event":"update","content-state":{}}}"#
        let own = #"{"android":{"live_update":{"name":"match-42","event":"update","content_state":{}}}}"#
        let copy = try sent(payload, #"{"tag":"gold"}"#, types: #"["android"]"#, with: own)
        let push = try ComposeForm(copy.form, now: 1).push(on: [.ios, .android]).text
        #expect(push.hasPrefix(#"{"audience":{"tag":"gold"},"device_types":["android"],"#), "\(push)")
    }

    @Test func `a copy names what Android alone had, and warns of the state that was for iOS`() throws {
        let payload = #"{"aps":{"timestamp":1000000,"event":"end","content-state":{"n":1}}}"#
        func block(_ state: String) -> String {
            #""android":{"live_update":{"name":"match-42","event":"end","type":"T","content_state":\#(state),"dismissal_date":1000061},"collapse_key":"k","deliver_to":"all"}"#
        }
        let own = ["type", "dismissal_date", "collapse_key", "deliver_to"].map { "\($0) for Android" }
        let both = try sent(payload, #""all""#, with: #"{"ios":{},\#(block(#"{"n":2}"#))}"#)
        #expect(
            both.missing == [
                "options, such as an expiry", "type for Android", "content_state for Android",
                "dismissal_date for Android", "collapse_key for Android", "deliver_to for Android",
            ])
        #expect(both.notes.count == 1 && both.notes[0].hasPrefix("The content state is what iOS got."), "\(both.notes)")
        let same = try sent(payload, #""all""#, with: #"{"ios":{},\#(block(#"{"n":1}"#))}"#)
        #expect(same.missing == ["options, such as an expiry"] + own && same.notes.isEmpty, "\(same.notes)")
        // The payload of a push for Android alone has the state for Android.
        let alone = try sent(payload, #""all""#, types: #"["android"]"#, with: "{\(block(#"{"n":1}"#))}")
        #expect(alone.form["dismissal_minutes"] == "2" && alone.notes.isEmpty, "\(alone.notes)")
        #expect(!alone.missing.contains("dismissal_date for Android") && alone.missing.count == 4, "\(alone.missing)")
    }

    /// The name's last state is of both platforms, of Android alone, or of the dead push itself.
    @Test(arguments: [(nil, true), (["android"], false), (["ios"], true)] as [([String]?, Bool)])
    func `a dead letter for both warns of the state that was for iOS`(types: [String]?, isWarned: Bool) throws {
        let payload = #"{"aps":{"timestamp":1000000,"event":"update","content-state":{"n":1}}}"#
        let letter = DeadLetterAnswer(
            pushID: Self.push, name: "match-42", at: "2026-11-21T18:00:00.000Z", stopped: nil, tokens: 1, kept: 0,
            notKept: 0, reasons: [:])
        func raw(_ text: String) -> RawJSON { RawJSON(checked: Array(text.utf8)) }
        func notes(last: String) throws -> String {
            let state = LastContentStateAnswer(
                pushID: last, event: "update", acceptedAt: "2026-11-21T18:00:00.000Z", audience: raw(#""all""#),
                deviceTypes: types, contentState: raw(#"{"n":7}"#))
            let name = ActivityAnswer(
                name: "match-42", tokens: 1, shards: 1, lastPushID: last, ended: false, broadcast: nil,
                automaticEndAt: nil, attributesType: nil, lastContentState: state)
            let own = #"{"live_update":{"name":"match-42","event":"update","content_state":{"n":2}}}"#
            var copy = try sent(payload, #""all""#, with: #"{"ios":{},"android":\#(own)}"#)
            copy.bringUpToDate(for: letter, name, [])
            #expect(copy.missing.contains("content_state for Android"), "\(copy.missing)")
            return copy.notes.joined(separator: " ")
        }
        let words = "The content state is what iOS got."
        #expect(try notes(last: "0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a11").contains(words) == isWarned)
        #expect(try notes(last: Self.push).contains(words), "it keeps its own state")
    }

    @Test func `a copy has what the push had, and names what it has not`() throws {
        let copy = try sent(
            #"{"aps":{"timestamp":1000000,"event":"end","content-state":{"home":1.50,"lamplighter":"x"},"#
                + #""alert":{"title":{"loc-key":"GOAL","loc-args":["2"]},"body":"b","sound":"horn.caf"},"#
                + #""stale-date":1000600,"dismissal-date":1000061,"relevance-score":0.50,"novel":1}}"#, #""all""#)
        let push = try ComposeForm(copy.form, now: 2_000_000_000).push().text
        #expect(
            push
                == #"{"audience":"all","device_types":["ios"],"notification":{"ios":{"live_activity":{"name":"match-42","event":"end","content_state":{"home":1.50},"priority":5,"alert":{"title":{"loc-key":"GOAL","loc-args":["2"]},"body":"b","sound":"horn.caf"},"stale_date":2000600,"dismissal_date":2000120,"relevance_score":0.50}}}}"#
                .replacing(
                    #"{"title":{"loc-key":"GOAL","loc-args":["2"]},"body":"b","sound":"horn.caf"}"#,
                    with: copy.form["alert"]
                )
                .replacing(#"{"home":1.50}"#, with: copy.form["state"]))
        #expect(copy.form["alert"].contains("horn.caf") && !copy.form["state"].contains("lamplighter"))
        #expect(copy.missing == ["options, such as an expiry", "novel"])
        let gone = CopiedPush(try ledger(), nil)
        #expect(gone.form["audience"].isEmpty && gone.missing == ["audience", "content", "options"])
    }

    @Test func `a scheduled push comes as it was published`() throws {
        let push =
            #"{"audience":{"tag":"vip","group":"club"},"device_types":["ios"],"notification":{"ios":{"live_activity":{"name":"match-42","event":"start","content_state":{},"priority":10,"alert":{"title":"Kick-off","sound":"default"},"stale_date":1795284600,"attributes_type":"Match","attributes":{}}}},"options":{}}"#
        let answer =
            #"{"url":"u","schedule":{"scheduled_time":"2026-11-21T18:00:00"},"name":null,"push":\#(push),"push_ids":[],"state":"scheduled"}"#
        let copy = CopiedPush(try ScheduleAnswer(answer: Array(answer.utf8)))
        #expect(copy.form["send_at"] == "2026-11-21T18:00:00" && copy.missing.isEmpty)
        #expect(try ComposeForm(copy.form, now: 1).push().text == push)
    }

    /// The parts of a push for each platform, and the devices that get it.
    @Test(arguments: [
        (#"["android"]"#, "android"), (#"["ios"]"#, "ios"), (#"["ios","android"]"#, "ios,android"),
    ])
    func `a scheduled push stays with its platforms`(types: String, platforms: String) throws {
        let parts = [
            "ios":
                #""ios":{"live_activity":{"name":"match-42","event":"start","content_state":{"home":1.50},"priority":5,"attributes_type":"Match","attributes":{}}}"#,
            "android":
                #""android":{"live_update":{"name":"match-42","event":"start","content_state":{"home":1.50},"type":"Match"},"delivery_priority":"normal"}"#,
        ]
        let blocks = platforms.split(separator: ",").compactMap { parts[String($0)] }.joined(separator: ",")
        let copy = try scheduled(#"{"audience":"all","device_types":\#(types),"notification":{\#(blocks)}}"#)
        #expect(copy.missing.isEmpty && copy.form["event"] == "start" && copy.form["name"] == "match-42")
        let push = try ComposeForm(copy.form, now: 1).push(on: [.ios, .android]).text
        // The form shows the state over several lines.
        let shown = push.replacing(copy.form["state"], with: #"{"home":1.50}"#)
        #expect(shown == #"{"audience":"all","device_types":\#(types),"notification":{\#(blocks)}}"#)
    }

    @Test func `a part of a platform that the form does not have is named`() throws {
        let copy = try scheduled(
            #"{"audience":"all","device_types":"all","notification":{"ios":{"live_activity":{"name":"a","event":"update","content_state":{"n":1}}},"android":{"live_update":{"name":"a","event":"update","content_state":{"n":2},"type":"T"},"collapse_key":"k"}}}"#
        )
        #expect(copy.missing == ["content_state for Android", "type for Android", "collapse_key for Android"])
    }

    private func scheduled(_ push: String) throws -> CopiedPush {
        let answer =
            #"{"url":"u","schedule":{"scheduled_time":"2026-11-21T18:00:00"},"name":null,"push":\#(push),"push_ids":[],"state":"scheduled"}"#
        return CopiedPush(try ScheduleAnswer(answer: Array(answer.utf8)))
    }

    private static let push = "0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10"

    private func sent(
        _ payload: String, _ audience: String, types: String? = nil, with notification: String? = nil
    ) throws -> CopiedPush {
        let devices = types.map { #""device_types":\#($0),"# } ?? ""
        let own = notification.map { #","notification":\#($0)"# } ?? ""
        let content =
            #"{"push_id":"0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10",\#(devices)"audience":\#(audience),"payload_bytes":1,"payload":\#(payload)\#(own)}"#
        return CopiedPush(try ledger(), try ContentAnswer(answer: Array(content.utf8)))
    }

    private func ledger() throws -> LedgerAnswer {
        LedgerAnswer(
            pushID: Self.push, name: "match-42", event: "end", priority: 5, state: "done", expanded: true,
            outcomes: Outcomes(), platforms: nil, retries: 0,
            duplicatesPossible: 0, demoted: 0, late: 0, stale: nil,
            automatic: nil,
            broadcast: nil, supersededBy: nil, createdAt: "2026-11-21T18:00:00.000Z", finishedAt: nil, errors: [:],
            shown: nil, ended: nil, dismissed: nil, by: nil)
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

/// The words of the question and of errors.
@Suite struct ComposeWordsTests {
    @Test func `a reach of ten times the usual is told, and little is known of a new name`() {
        #expect(UsualReach.text(1_800, [150, 0, 148, 152, 0])?.hasPrefix("This is 12 times the usual") == true)
        #expect(UsualReach.text(1_400, [150, 148, 152]) == nil)
        #expect(UsualReach.text(1_800, [150, 148]) == nil, "two pushes are no habit")
        #expect(UsualReach.text(99, [1, 1, 1]) == nil, "so few are never unusual")
        #expect(UsualReach.text(1_800, []) == nil)
    }

    @Test(arguments: [
        ("notification.ios.live_activity.stale_date is in the past: x", "Stale after is in the past: x"),
        ("notification.ios.live_activity: the payload is over 4096 bytes", "The payload is over 4096 bytes"),
        ("notification.ios.live_activity.content_state holds `{{`", "Content state holds `{{`"),
        ("notification.android.live_update.content_state holds `{{`", "Content state holds `{{`"),
        ("notification.android.live_update: the payload is too large", "The payload is too large"),
        ("\"match-24\" has no followers", "\"match-24\" has no followers"),
    ])
    func `a text of the API names fields and no path`(text: String, words: String) {
        #expect(ComposeCheck.words(text) == words)
    }

    @Test(arguments: ["", "0123456789abcdef0123456", "0123456789abcdef0123456G", "0123456789ABCDEF01234567", "../x"])
    func `an address that no draft has is refused`(id: String) { #expect(!Draft.isID(id)) }

    @Test func `a field is found by its name, and set or left out with all of its values`() throws {
        var form = Form("entry=a&name=x%0D%0Ay&entry=b&=1&&entry=a")
        #expect(form["name"] == "x\ny" && form.values("entry") == ["a", "b"] && form["entry"] == "a")
        #expect(form.fields.map(\.name) == ["entry", "entry", "entry", "name", ""])
        form["entry"] = "c"
        form["new"] = "d"
        #expect(form.values("entry") == ["c"] && form.fields.map(\.name) == ["entry", "name", "", "new"])
        #expect(form.without(["name", ""]).fields.map(\.value) == ["c", "d"])
        #expect(!form.without(["name"]).has("name") && form.without(["name"])["name"].isEmpty)
    }

    @Test func `a form has a bounded number of fields`() throws {
        func body(_ count: Int) -> [UInt8] { Array((0..<count).map { "\($0)=" }.joined(separator: "&").utf8) }
        #expect(try Form(body(Form.mostFields)).fields.count == Form.mostFields)
        #expect(Form.mostFields > Bulk.most, "the boxes of one decision fit")
        let failure = #expect(throws: ConsoleFailure.self) { try Form(body(Form.mostFields + 1)) }
        #expect(failure?.status == 413)
    }

    @Test func `a new draft has such an address, and its record comes back`() throws {
        var draft = Draft(id: Draft.newID(), form: Form("name=a%0Ab&state=%7B%7D"))
        #expect(Draft.isID(draft.id))
        draft.problem = Draft.Problem(message: "no", field: "f:home", status: 409)
        let back = try #require(Draft(id: draft.id, record: draft.record(now: 5)))
        #expect(back.form["name"] == "a\nb" && back.form["state"] == "{}" && back.savedAt == 5)
        #expect(back.problem?.message == "no" && back.problem?.field == "f:home" && back.problem?.status == 409)
        #expect(Draft(id: draft.id, record: Array("{}".utf8)) == nil)
    }
}
