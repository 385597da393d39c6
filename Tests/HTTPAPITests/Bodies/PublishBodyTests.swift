import LiveActivity
import StrictJSON
import Testing

@testable import HTTPAPI

/// 2026-11-21T18:00:00Z in epoch milliseconds.
let testNow: Int64 = 1_795_284_000_000

/// A publish whose parts can be replaced by text.
func publishText(
    audience: String = #""all""#, devices: String = #"["ios"]"#,
    activity: String = #"{"name":"order-1","event":"update","content_state":{"n":1}}"#, tail: String = ""
) -> String {
    #"{"audience":\#(audience),"device_types":\#(devices),"notification":{"ios":{"live_activity":\#(activity)}}\#(tail)}"#
}

private let prefix = "notification.ios.live_activity"

@Suite struct PublishBodyTests {
    /// The offset of the activity object in `publishText`.
    static let start = publishText(activity: "@").utf8.firstOffset(of: "@") + 1

    @Test(arguments: [
        // Each case has the text of the activity, path, message, and column in the object (its brace is column 1).
        (#"{"event":"update","content_state":{}}"#, "name", "is required", 1),
        (#"{"name":"","event":"update","content_state":{}}"#, "name", "1 to 255 bytes", 9),
        (#"{"name":"a\u0007b","event":"update","content_state":{}}"#, "name", "without control characters", 9),
        (#"{"name":7,"event":"update","content_state":{}}"#, "name", "must be a string, not a number", 9),
        (#"{"name":"n","content_state":{}}"#, "event", "is required", 1),
        (#"{"name":"n","event":"upd","content_state":{}}"#, "event", "did you mean `update`", 21),
        (#"{"name":"n","event":"update"}"#, "content_state", "is required for event update", 1),
        (#"{"name":"n","event":"update","content_state":[]}"#, "content_state", "must be an object, not an array", 46),
        (#"{"name":"n","event":"update","content_state":null}"#, "content_state", "not null", 46),
        (#"{"name":"n","event":"update","content_state":"{}"}"#, "content_state", "not a string", 46),
        (#"{"name":"n","event":"end","content_state":[]}"#, "content_state", "not an array", 43),
        (#"{"name":"n","event":"end","priority":7}"#, "priority", "must be 5 or 10, not 7", 38),
        (#"{"name":"n","event":"end","priority":"10"}"#, "priority", "not a string", 38),
        (#"{"name":"n","event":"end","priority":10.0}"#, "priority", "without fraction", 38),
        (#"{"name":"n","event":"end","priorty":5}"#, "priorty", "did you mean `priority`", 27),
        (#"{"name":"n","event":"end","content-state":{}}"#, "content-state", "did you mean `content_state`", 27),
        (#"{"name":"n","event":"end","name":"m"}"#, "name", "appears twice", 27),
        (#"{"name":"n","event":"end","timestamp":1795284301}"#, "timestamp", "301 s ahead", 39),
        (#"{"name":"n","event":"end","timestamp":1795284000000}"#, "timestamp", "milliseconds: 1795284000", 39),
        (#"{"name":"n","event":"end","timestamp":12}"#, "timestamp", "epoch seconds", 39),
        (#"{"name":"n","event":"end","timestamp":"now"}"#, "timestamp", "whole number, not a string", 39),
        (#"{"name":"n","event":"end","stale_date":1795284000000}"#, "stale_date", "milliseconds", 40),
        (
            #"{"name":"n","event":"end","stale_date":"2026-11-21T18:00:00Z"}"#, "stale_date",
            "must be epoch seconds: 1795284000?", 40
        ),
        (
            #"{"name":"n","event":"end","timestamp":"1795284000"}"#, "timestamp",
            "must be epoch seconds, a number without quotes", 39
        ),
        (
            #"{"name":"n","event":"end","dismissal_date":"2026-11-21T19:00:00+01:00"}"#, "dismissal_date",
            "must be epoch seconds: 1795284000?", 44
        ),
        (
            #"{"name":"n","event":"update","content_state":{},"relevance_score":1e-400}"#, "relevance_score",
            "fits a double", 67
        ),
        (#"{"name":"n","event":"end","dismissal_date":-1}"#, "dismissal_date", "epoch seconds", 44),
        (#"{"name":"n","event":"end","relevance_score":"1"}"#, "relevance_score", "number, not a string", 45),
        (#"{"name":"n","event":"end","relevance_score":1e999}"#, "relevance_score", "fits a double", 45),
        (#"{"name":"n","event":"end","alert":"x"}"#, "alert", "must be an object", 35),
        (#"{"name":"n","event":"end","alert":{"titel":"x"}}"#, "alert.titel", "did you mean `title`", 36),
        (#"{"name":"n","event":"end","alert":{"title":1}}"#, "alert.title", "loc-key", 44),
        (#"{"name":"n","event":"end","alert":{"title":{"loc-args":[]}}}"#, "alert.title.loc-key", "is required", 44),
        (
            #"{"name":"n","event":"end","alert":{"body":{"loc-key":"k","loc-args":[1]}}}"#, "alert.body.loc-args[0]",
            "string", 70
        ),
        (#"{"name":"n","event":"end","alert":{"sound":true}}"#, "alert.sound", "must be a string, not true", 44),
        (#"{"name":"n","event":"end","attributes":{}}"#, "attributes", "is allowed with event start only", 27),
        (
            #"{"name":"n","event":"start","content_state":{},"alert":{"title":"t"},"attributes":{}}"#,
            "attributes_type", "is required for event start", 1
        ),
        (
            #"{"name":"n","event":"start","content_state":{},"alert":{"title":"t"},"attributes_type":"a\u0007","attributes":{}}"#,
            "attributes_type", "1 to 255 bytes of text without control characters", 88
        ),
        (
            #"{"name":"n","event":"start","content_state":{},"attributes_type":"T","attributes":{}}"#, "alert",
            "is required for event start", 1
        ),
    ])
    func `refuses a bad activity, naming path and place`(
        activity: String, path: String, message: String, column: Int
    ) throws {
        let error = try refusal(publishText(activity: activity))
        #expect(error.status == 400 && error.code == 40000)
        #expect(error.details?.path == "\(prefix).\(path)")
        #expect(error.details?.location == JSONLocation(line: 1, column: Self.start + column - 1), "\(error.message)")
        #expect(error.details?.error.contains(message) == true, "\(error.message)")
        #expect(error.message.hasPrefix("\(prefix).\(path): "))
    }

    @Test(arguments: [
        ("5", "audience", "\"all\" or a selector object, not a number"), (#""some""#, "audience", "must be \"all\""),
        ("{}", "audience", "exactly one of"), (#"{"group":"g"}"#, "audience", "it has none"),
        (#"{"segment":"x"}"#, "audience.segment", "does not serve"),
        (#"{"tga":"x"}"#, "audience.tga", "did you mean `tag`"),
        (#"{"tag":"x","named_user":"u"}"#, "audience", "it has tag, named_user"),
        (#"{"or":[]}"#, "audience.or", "at least one selector"), (#"{"and":[]}"#, "audience.and", "at least one"),
        (#"{"or":{}}"#, "audience.or", "must be an array"), (#"{"tag":[]}"#, "audience.tag", "at least one string"),
        (#"{"or":[{"tag":"a"},{"tag":7}]}"#, "audience.or[1].tag", "must be a string"),
        (#"{"tag":""}"#, "audience.tag", "1 to 255 bytes"),
        (#"{"ios_channel":"a\nb"}"#, "audience.ios_channel", "1 to 128"),
        (#"{"named_user":"u","group":"g"}"#, "audience.group", "beside `tag` only"),
        (#"{"not":[{"tag":"a"}]}"#, "audience.not", "selector object, not an array"),
        (nested(17, #""all""#), "audience" + String(repeating: ".not", count: 17), "deeper than 16"),
        (
            nested(16, #"{"tag":["a","b"]}"#), "audience" + String(repeating: ".not", count: 16) + ".tag",
            "deeper than 16"
        ),
        (#"{"tag":[\#((0..<1_001).map { "\"t\($0)\"" }.joined(separator: ","))]}"#, "audience.tag", "more than 1000"),
    ])
    func `refuses a bad audience`(audience: String, path: String, message: String) throws {
        let error = try refusal(publishText(audience: audience))
        #expect(error.status == 400)
        #expect(error.details?.path == path)
        #expect(error.details?.error.contains(message) == true, "\(error.message)")
        #expect(error.details?.location?.line == 1)
    }

    @Test(arguments: [
        ("", "", "is empty"), ("{", "", "object is not closed"), ("[]", "", "at least one push"),
        ("3", "", "push object"),
        ("{}", "audience", "is required"), (#"[{}]"#, "[0].audience", "is required"),
        (#"[\#(publishText()),\#(publishText(audience: #"{"or":[]}"#))]"#, "[1].audience.or", "at least one"),
        (publishText(tail: #","optoins":{}"#), "optoins", "did you mean `options`"),
        (publishText(tail: #","options":{"conflat":false}"#), "options.conflat", "did you mean `conflate`"),
        (publishText(tail: #","options":{"conflate":1}"#), "options.conflate", "true or false"),
        (publishText(tail: #","options":{"expiry":-1}"#), "options.expiry", "epoch seconds"),
        (publishText(tail: #","options":{"expiry":1795284000000}"#), "options.expiry", "milliseconds"),
        (publishText(tail: #","options":{"expiry":"soon"}"#), "options.expiry", "UTC time"),
        (publishText(devices: #"["android"]"#), "device_types", "must include `ios`"),
        (publishText(devices: #"["ios","andriod"]"#), "device_types[1]", "did you mean `android`"),
        (publishText(devices: "7"), "device_types", "list of device types"),
        (#"{"audience":"all","device_types":"all","notification":{}}"#, "notification.ios", "is required"),
        (
            #"{"audience":"all","device_types":"all","notification":{"ios":{"alert":"x"}}}"#, prefix,
            "Live Activities only"
        ),
        (
            #"{"audience":"all","device_types":"all","notification":{"iso":{}}}"#, "notification.iso",
            "did you mean `ios`"
        ),
        (
            #"{"audience":"all","device_types":"all","notification":{"ios":{"live_activty":{}}}}"#,
            "notification.ios.live_activty", "did you mean `live_activity`"
        ),
        (
            publishText(audience: String(repeating: #"{"not":"#, count: 1_000)),
            "audience" + String(repeating: ".not", count: 62), "deeper than 64"
        ),
    ])
    func `refuses a bad envelope`(text: String, path: String, message: String) throws {
        let error = try refusal(text)
        #expect(error.status == 400)
        #expect(error.details?.path == path)
        #expect(error.details?.error.contains(message) == true, "\(error.message)")
    }

    @Test func `a payload over Apple's limit is refused with its size`() throws {
        let state = #"{"text":"\#(String(repeating: "x", count: 6_000))"}"#
        let error = try refusal(publishText(activity: #"{"name":"n","event":"update","content_state":\#(state)}"#))
        #expect(error.status == 400)
        #expect(error.details?.path == "\(prefix).content_state")
        #expect(error.details?.error.contains("6077 bytes") == true, "\(error.message)")
        let limit = "Apple's limit is 4096, or 5120 for a name with a broadcast channel (this value"
        #expect(error.details?.error.contains(limit) == true, "\(error.message)")
        // A push for some devices goes to no broadcast channel.
        let activity = #"{"name":"n","event":"update","content_state":\#(state)}"#
        let some = try refusal(publishText(audience: #"{"tag":"a"}"#, activity: activity))
        #expect(some.details?.error.contains("Apple's limit is 4096 (this value") == true, "\(some.message)")
        let overhead = 6_077 - 6_000
        // A payload that a broadcast channel would accept is refused later, unless the name has one.
        for (size, isRefused) in [(4_097, true), (5_120, true), (4_096, false)] {
            let text = #"{"text":"\#(String(repeating: "x", count: size - overhead))"}"#
            let push = try parse(publishText(activity: #"{"name":"n","event":"update","content_state":\#(text)}"#))[0]
            #expect(push.payload.count == size && (push.oversize != nil) == isRefused)
        }
        // This is the largest payload that fits.
        let largest = #"{"text":"\#(String(repeating: "x", count: 4_096 - overhead))"}"#
        let push = try parse(publishText(activity: #"{"name":"n","event":"update","content_state":\#(largest)}"#))[0]
        #expect(push.payload.count == 4_096)
    }

    @Test func `content state goes out byte for byte`() throws {
        let state = #"{ "a":1.0,"b":1e2 , "c":-0,"d":12345678901234567890,"e":"\u00e9\ud83d\ude00/\/","a":2 }"#
        let push = try parse(publishText(activity: #"{"name":"n","event":"update","content_state":\#(state)}"#))[0]
        #expect(push.publish.contentState?.bytes == Array(state.utf8))
        #expect(
            String(decoding: push.payload, as: UTF8.self)
                == #"{"aps":{"timestamp":1795284000,"event":"update","content-state":\#(state)}}"#)
    }

    @Test func `reads every field`() throws {
        let activity = #"""
            {"name":"match-42","event":"end","content_state":{"s":"2:1"},"timestamp":1795283999,"priority":5,
             "stale_date":1795285000,"dismissal_date":1795286000,"relevance_score":0.50,
             "alert":{"title":{"loc-key":"GOAL","loc-args":["1"]},"body":"Over","sound":"default"}}
            """#
        let audience =
            #"{"and":[{"tag":["a","b"],"group":"teams"},{"not":{"named_user":"u"}},{"ios_channel":"C0FFEE00-0000-4000-8000-000000000001"}]}"#
        let push = try parse(
            publishText(
                audience: audience, devices: #""all""#, activity: activity,
                tail: #","options":{"conflate":false,"expiry":60}"#)
        )[0]
        let publish = push.publish
        #expect(publish.name.rawValue == "match-42" && publish.event == .end && publish.priority == .low)
        #expect(publish.timestamp == 1_795_283_999 && publish.staleDate == 1_795_285_000)
        #expect(publish.dismissalDate == 1_795_286_000)
        #expect(publish.relevanceScore == RawJSON(checked: "0.50"))
        #expect(publish.options == PublishOptions(conflate: false, expiry: 1_795_284_060))
        #expect(push.warnings.isEmpty)
        let channel = try ChannelID("c0ffee00-0000-4000-8000-000000000001")
        #expect(
            publish.audience
                == .and([
                    .or([.tag("a", group: "teams"), .tag("b", group: "teams")]), .not(.namedUser("u")),
                    .channel(channel),
                ]))
        let start =
            #"{"name":"n","event":"start","content_state":{},"alert":{"title":"t"},"attributes_type":"T\"1","attributes":{"k":1}}"#
        #expect(try parse(publishText(activity: start))[0].publish.attributesType == "T\"1")
    }

    @Test(arguments: [
        (#"{"name":"n","event":"end","alert":{"body":"b"}}"#, "", "has no title"),
        (#"{"name":"n","event":"end","alert":{"title":"","sound":"default"}}"#, "", "has no title"),
        (
            #"{"name":"n","event":"end","stale_date":1795283000}"#, "",
            "stale_date is in the past: devices show the state as stale"
        ),
        (
            #"{"name":"n","event":"start","content_state":{},"alert":{"title":"t"},"attributes_type":"T","attributes":{},"stale_date":1795283000}"#,
            "", "stale_date is in the past: no card appears, so nothing will be sent"
        ),
        (#"{"name":"n","event":"end"}"#, #","options":{"expiry":1795283000}"#, "expiry is in the past"),
        (#"{"name":"n","event":"update","content_state":{},"dismissal_date":0}"#, "", "event end only"),
        (#"{"name":"n","event":"end","dismissal_date":1795298401}"#, "", "more than 4 h ahead"),
    ])
    func `warns of what has no effect`(activity: String, tail: String, warning: String) throws {
        let push = try parse(publishText(activity: activity, tail: tail))[0]
        #expect(push.warnings.count == 1)
        #expect(push.warnings.first?.contains(warning) == true, "\(push.warnings)")
    }

    @Test(arguments: [
        (#"{"name":"n","event":"update","content_state":{}}"#, 1_795_284_900),
        (#"{"name":"n","event":"update","content_state":{},"timestamp":1795283000}"#, 1_795_284_900),
        (#"{"name":"n","event":"update","content_state":{},"stale_date":1795290000}"#, 1_795_290_000),
        (#"{"name":"n","event":"end","content_state":{}}"#, nil),
    ])
    func `an app's updates can get a stale date by default`(activity: String, stale: Int?) throws {
        let bytes = Array(publishText(activity: activity).utf8)
        let push = try PublishBody.parse(bytes, now: testNow, .init(staleAfter: 900))[0]
        #expect(push.publish.staleDate == stale)
        let text = String(decoding: push.payload, as: UTF8.self)
        #expect(text.contains(#""stale-date""#) == (stale != nil))
    }

    @Test(arguments: [
        (#"{"name":"n","event":"end"}"#, #"{"aps":{"timestamp":1795284000,"event":"end"}}"#),
        (
            #"{"name":"n","event":"end","dismissal_date":0}"#,
            #"{"aps":{"timestamp":1795284000,"event":"end","dismissal-date":0}}"#
        ),
        (
            #"{"name":"n","event":"end","content_state":{"n":1.0},"dismissal_date":1795287600}"#,
            #"{"aps":{"timestamp":1795284000,"event":"end","content-state":{"n":1.0},"dismissal-date":1795287600}}"#
        ),
        (
            #"{"name":"n","event":"end","content_state":{},"alert":{"title":{"loc-key":"K"}}}"#,
            #"{"aps":{"timestamp":1795284000,"event":"end","content-state":{},"alert":{"title":{"loc-key":"K"}}}}"#
        ),
    ])
    func `an end goes out as Apple has it, with whatever it brings`(activity: String, golden: String) throws {
        let push = try parse(publishText(activity: activity))[0]
        #expect(String(decoding: push.payload, as: UTF8.self) == golden && push.warnings.isEmpty)
    }

    @Test(arguments: [("true", true), ("false", false), (nil, nil)] as [(String?, Bool?)])
    func `a start can respect dismissals`(text: String?, respects: Bool?) throws {
        let start =
            #"{"name":"n","event":"start","content_state":{},"alert":{"title":"t"},"attributes_type":"T","attributes":{}}"#
        let options = text.map { #","options":{"respect_dismissal":\#($0)}"# } ?? ""
        #expect(try parse(publishText(activity: start, tail: options))[0].publish.options.respectDismissal == respects)
        guard text != nil else { return }
        #expect(throws: JSONError.self) {
            try parse(publishText(activity: #"{"name":"n","event":"end"}"#, tail: options))
        }
    }

    /// A state that is stale shows as stale. It must not be held back, changed or refused because of that.
    @Test(arguments: ["update", "end"])
    func `a past stale date goes out as written`(event: String) throws {
        let push = try parse(
            publishText(activity: #"{"name":"n","event":"\#(event)","content_state":{},"stale_date":1666261020}"#))[0]
        #expect(
            String(decoding: push.payload, as: UTF8.self)
                == #"{"aps":{"timestamp":1795284000,"event":"\#(event)","content-state":{},"stale-date":1666261020}}"#)
        #expect(push.publish.staleDate == 1_666_261_020 && push.warnings.count == 1)
    }

    @Test(arguments: [
        ("60", 1_795_284_060), ("999999999", 2_795_283_999), ("1795285000", 1_795_285_000), ("0", 0),
        (#""2026-11-21T19:00:00""#, 1_795_287_600), (#""2026-11-21T19:00:00Z""#, 1_795_287_600),
    ])
    func `an expiry is read in each of its forms`(text: String, seconds: Int) throws {
        let push = try parse(publishText(tail: #","options":{"expiry":\#(text)}"#))[0]
        #expect(push.publish.options.expiry == seconds && push.warnings.isEmpty)
    }

    @Test func `mutated bodies are refused or accepted, never a crash`() throws {
        let seed = Array(
            publishText(
                audience: #"{"or":[{"tag":["a"],"group":"g"},{"not":"all"}]}"#,
                activity:
                    #"{"name":"é","event":"update","content_state":{"a":[1.0]},"alert":{"title":"t"},"priority":5}"#,
                tail: #","options":{"expiry":5}"#
            ).utf8)
        var random = SystemRandomNumberGenerator()
        var refused = 0
        for _ in 0..<5_000 {
            var bytes = seed
            for _ in 0...Int.random(in: 0..<3, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.remove(at: place)
                default: bytes.insert(seed[Int.random(in: 0..<seed.count, using: &random)], at: place)
                }
            }
            do {
                for push in try PublishBody.parse(bytes, now: testNow) {
                    // An accepted push always has a payload that is JSON.
                    #expect(throws: Never.self) { try JSONDocument(push.payload) }
                }
            } catch {
                refused += 1
                let answer = APIError(error)
                #expect(answer.status == 400 && answer.details != nil)
                #expect(throws: Never.self) { try JSONDocument(answer.body(operation: "x").bytes) }
            }
        }
        #expect(refused > 1_000)
    }
}

private func nested(_ depth: Int, _ inner: String) -> String {
    String(repeating: #"{"not":"#, count: depth) + inner + String(repeating: "}", count: depth)
}

private func parse(_ text: String) throws -> [PublishBody.Push] {
    try PublishBody.parse(Array(text.utf8), now: testNow)
}

private func refusal(_ text: String) throws -> APIError {
    APIError(try #require(throws: JSONError.self) { try parse(text) })
}

extension Sequence<UInt8> {
    fileprivate func firstOffset(of character: Unicode.Scalar) -> Int {
        enumerated().first { $0.element == UInt8(ascii: character) }?.offset ?? -1
    }
}
