import Answers
import LiveActivity
import StrictJSON
import Testing

/// A body says its members once. From that it is written, read and described.
@Suite struct AnswerBodyTests {
    private let letter = DeadLetterAnswer(
        pushID: "p", name: "n", at: "t", stopped: nil, tokens: 3, kept: 2, notKept: 1, reasons: ["b": 1, "a": 2])
    private let text =
        #"{"push_id":"p","name":"n","at":"t","stopped":null,"tokens":3,"kept":2,"not_kept":1,"reasons":{"a":2,"b":1}}"#

    @Test func `it is written in the order of its members`() {
        #expect(letter.answerJSON.text == text)
    }

    @Test func `what was written can be read`() throws {
        let read = try DeadLetterAnswer(answer: Array(text.utf8))
        #expect(read.answerJSON.text == text)
        #expect(read.stopped == nil && read.reasons == ["a": 2, "b": 1])
    }

    @Test func `null and absent are told apart when it is written`() {
        let page = DeadLettersAnswer(total: 0, dead: [], next: nil)
        #expect(page.answerJSON.text == #"{"ok":true,"total":0,"dead":[]}"#)
    }

    @Test func `members of a newer gateway are passed over`() throws {
        let newer = text.dropLast() + #","colour":"red"}"#
        #expect(try DeadLetterAnswer(answer: Array(newer.utf8)).answerJSON.text == text)
    }

    @Test func `a member that an older gateway lacks has a value`() throws {
        let older = text.replacing(#""not_kept":1,"#, with: "")
        #expect(try DeadLetterAnswer(answer: Array(older.utf8)).notKept == 0)
    }

    @Test(arguments: [#"{"push_id":"p"}"#, #"{"push_id":1,"name":"n"}"#, "[]", "", "{}"])
    func `another form is an error`(text: String) {
        #expect(throws: JSONError.self) { try DeadLetterAnswer(answer: Array(text.utf8)) }
    }

    @Test func `sums of numbers cannot overflow`() throws {
        let huge = text.replacing(#""tokens":3"#, with: #""tokens":9223372036854775807"#)
        #expect(try DeadLetterAnswer(answer: Array(huge.utf8)).tokens == 1 << 53)
    }

    @Test func `its schema has each member once`() {
        let page = DeadLettersAnswer.definition.text
        #expect(
            page == #"{"type":"object","properties":{"ok":{"const":true},"total":{"type":"integer"},"dead":"#
                + ##"{"type":"array","items":{"$ref":"#/components/schemas/DeadLetter"}},"next":{"type":"string"}},"##
                + #""required":["ok","total","dead"]}"#)
        #expect(DeadLetterAnswer.definition.text.contains(#""stopped":{"type":["string","null"]}"#))
    }

    @Test func `a body that is null or a body says so`() {
        let activity = ActivityAnswer.definition.text
        let broadcast = ##""broadcast":{"anyOf":[{"$ref":"#/components/schemas/BroadcastChannel"},{"type":"null"}]}"##
        #expect(activity.contains(broadcast))
    }

    @Test func `shared members stand beside the others`() throws {
        let held = HeldToken(
            token: "80f3…", registeredAt: "t", ageSeconds: 1, startedAt: nil, state: "following",
            otherEnvironment: false)
        let following = FollowingAnswer(name: "n", held: held)
        let text =
            #"{"name":"n","token":"80f3…","registered_at":"t","age_seconds":1,"state":"following","#
            + #""other_environment":false}"#
        #expect(following.answerJSON.text == text)
        #expect(try FollowingAnswer(answer: Array(text.utf8)).held.ageSeconds == 1)
        #expect(FollowingAnswer.definition.text.contains(#""required":["name","token","registered_at","age_seconds""#))
    }

    @Test func `groups that differ in their bytes alone stay apart`() throws {
        let text = #"{"e\u0301":["b"],"\u00e9":["a"]}"#
        let groups = try [ExactText: [String]](answer: JSONDocument(text).root)
        #expect(groups.count == 2)
    }

    @Test func `values that are passed on stay byte for byte`() throws {
        let text = #"{"push_id":"p","audience":"all","payload_bytes":1,"payload":{ "a" : 1.50 }}"#
        #expect(try ContentAnswer(answer: Array(text.utf8)).answerJSON.text == text)
    }

    @Test func `a value that is as deep as a request may be is read`() throws {
        let depth = JSONDocument.defaultMaximumDepth
        let payload = String(repeating: #"{"a":"#, count: depth) + "1" + String(repeating: "}", count: depth)
        let text = #"{"push_id":"p","audience":"all","payload_bytes":1,"payload":\#(payload)}"#
        let content = try ContentAnswer(answer: Array(text.utf8))
        #expect(content.payload.text == payload)
        #expect(throws: Never.self) { try JSONDocument(content.payload.bytes) }
    }
}
