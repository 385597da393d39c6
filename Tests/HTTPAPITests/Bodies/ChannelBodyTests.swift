import LiveActivity
import Store
import StrictJSON
import Testing

@testable import HTTPAPI

@Suite struct ChannelBodyTests {
    let channel = ChannelID(UUIDBytes(high: 1, low: 2))

    @Test(arguments: [
        (#""18.1.1""#, true), (#""26.0""#, true), (#""17.7""#, false), (#""18""#, true), (#""beta""#, nil),
        ("null", nil),
    ])
    func `the systems version is read`(text: String, expected: Bool?) throws {
        let body = #"{"channel":{"device_type":"ios","device_os":\#(text)}}"#
        #expect(try ChannelBody.registration(Array(body.utf8)).hasIOS18 == expected)
    }

    @Test func `a registration keeps tags that are set and passes over what it does not know`() throws {
        let body =
            #"{"channel":{"device_type":"ios","opt_in":true,"push_address":"ab","set_tags":true,"tags":["a","b"],"named_user_id":"u","is_activity":true},"identity_hints":{}}"#
        let registration = try ChannelBody.registration(Array(body.utf8))
        #expect(registration.tags.set == ["device": ["a", "b"]])
        #expect(registration.namedUser == "u")
        let unset = try ChannelBody.registration(Array(#"{"channel":{"tags":["a"],"named_user_id":null}}"#.utf8))
        #expect(unset.tags == TagChange() && unset.namedUser == nil)
    }

    @Test(arguments: [
        ("{}", "channel"), (#"{"channel":[]}"#, "channel"),
        (#"{"channel":{"device_type":"web"}}"#, "channel.device_type"),
        (#"{"channel":{"set_tags":true,"tags":[1]}}"#, "channel.tags[0]"),
        (#"{"channel":{"named_user_id":7}}"#, "channel.named_user_id"),
    ])
    func `refuses a bad registration`(text: String, path: String) throws {
        let error = try #require(throws: JSONError.self) { try ChannelBody.registration(Array(text.utf8)) }
        #expect(error.path == path)
    }

    @Test func `a batch is read in the SDK's form, both token types`() throws {
        let batch = try BatchBody(
            Array(
                #"""
                {"tags":{"add":{"g":["t"]},"remove":{"h":[]}},"attributes":[{"anything":1}],"subscription_lists":[2],
                 "live_activities":[
                  {"action":"set","type":"update_token","id":"A1","name":"order-1","token":"0aFF","action_ts_ms":1795284000001,"start_ts_ms":1795283000000},
                  {"action":"remove","id":"A1","name":"order-1","action_ts_ms":1795284000002,"start_ts_ms":1795283000000},
                  {"action":"set","type":"start_token","attributes_type":"T","token":"bb","action_ts_ms":1795284000003},
                  {"action":"remove","type":"start_token","attributes_type":"T","action_ts_ms":1795284000004}]}
                """#.utf8), channel: channel)
        #expect(batch.problems.isEmpty)
        #expect(batch.tags?.add == ["g": ["t"]])
        let name = TokenPlace.activity(try ActivityName("order-1"))
        let start = TokenPlace.startTokens(of: "T")
        #expect(
            batch.updates == [
                .set(
                    name,
                    Registration(
                        channel: channel, token: try PushToken(hex: "0aff"), registeredAt: 1_795_284_000_001,
                        startedAt: 1_795_283_000_000, activityID: "A1")),
                .remove(name, Untrack(channel: channel, removedAt: 1_795_284_000_002, activityID: "A1")),
                .set(
                    start,
                    Registration(channel: channel, token: try PushToken(hex: "bb"), registeredAt: 1_795_284_000_003)),
                .remove(start, Untrack(channel: channel, removedAt: 1_795_284_000_004)),
            ])
    }

    @Test func `bad entries of a batch do not hold up good ones`() throws {
        let good = #"{"action":"set","name":"n","token":"aa","action_ts_ms":1795284000000}"#
        let bad = [
            (#"{"action":"sit","name":"n","token":"aa","action_ts_ms":1795284000000}"#, "action"),
            (#"{"action":"set","name":"n","token":"xyz","action_ts_ms":1795284000000}"#, "token"),
            (#"{"action":"set","name":"n","token":"abc","action_ts_ms":1795284000000}"#, "token"),
            (
                #"{"action":"set","name":"n","token":"\#(String(repeating: "a", count: 4_000))","action_ts_ms":1795284000000}"#,
                "token"
            ),
            (#"{"action":"set","name":"n","action_ts_ms":1795284000000}"#, "token"),
            (#"{"action":"set","token":"aa","action_ts_ms":1795284000000}"#, "name"),
            (#"{"action":"set","name":"n","token":"aa"}"#, "action_ts_ms"),
            (#"{"action":"set","name":"n","token":"aa","action_ts_ms":1795284000}"#, "action_ts_ms"),
            (#"{"action":"set","type":"x","name":"n","token":"aa","action_ts_ms":1795284000000}"#, "type"),
            (#"{"action":"set","type":"start_token","token":"aa","action_ts_ms":1795284000000}"#, "attributes_type"),
        ]
        let text = #"{"live_activities":[\#(([good] + bad.map(\.0) + [good]).joined(separator: ","))],"tags":[]}"#
        let batch = try BatchBody(Array(text.utf8), channel: channel)
        #expect(batch.updates.count == 2)
        #expect(
            batch.problems.map(\.path) == ["tags"]
                + bad.enumerated().map { "live_activities[\($0.offset + 1)].\($0.element.1)" })
        // An error never repeats a token.
        #expect(!batch.problems.contains { $0.message.contains("xyz") || $0.message.contains("aaaa") })
    }

    @Test func `the first thousand entries of a batch are applied, and a hundred of its problems named`() throws {
        let good = #"{"action":"set","name":"n","token":"aa","action_ts_ms":1795284000000}"#
        func batch(_ entries: [String]) throws -> BatchBody {
            try BatchBody(Array(#"{"live_activities":[\#(entries.joined(separator: ","))]}"#.utf8), channel: channel)
        }
        let full = try batch(Array(repeating: good, count: 1_000))
        #expect(full.updates.count == 1_000)
        #expect(full.problemCount == 0)
        let tooMany = try batch(Array(repeating: good, count: 1_001))
        #expect(tooMany.updates.count == 1_000)
        #expect(tooMany.problems.map(\.path) == ["live_activities[1000]"])
        #expect(tooMany.problems.first?.message.contains("first 1000") == true)
        let bad = try batch([good] + Array(repeating: "0", count: 150) + [good])
        #expect(bad.updates.count == 2)
        #expect(bad.problems.count == 100)
        #expect(bad.problemCount == 150)
    }

    @Test func `a call has a hundred tags of a group, and a registration a thousand`() throws {
        func list(_ count: Int) -> String { "[" + (0..<count).map { #""\#($0)""# }.joined(separator: ",") + "]" }
        func groups(_ count: Int) -> String { (0..<count).map { #""g\#($0)":["t"]"# }.joined(separator: ",") }
        func tags(_ text: String) throws -> TagChange {
            try ChannelBody.tags(JSONDocument(#"{"add":{\#(text)}}"#).root.object())
        }
        #expect(try tags(#""g":\#(list(100))"#).add["g"]?.count == 100)
        #expect(try tags(groups(100)).add.count == 100)
        let tooMany = #expect(throws: JSONError.self) { try tags(#""g":\#(list(101))"#) }
        #expect(tooMany?.path == "add.g")
        #expect(tooMany?.message == "must hold at most 100 tags, not 101")
        #expect(throws: JSONError.self) { try tags(groups(101)) }
        func registration(_ count: Int) throws -> ChannelBody.Registration {
            try ChannelBody.registration(Array(#"{"channel":{"set_tags":true,"tags":\#(list(count))}}"#.utf8))
        }
        #expect(try registration(1_000).tags.set["device"]?.count == 1_000)
        #expect(throws: JSONError.self) { try registration(1_001) }
    }

    @Test func `a call names a thousand tags in all`() throws {
        func groups(_ count: Int, of tags: Int) -> String {
            let list = (0..<tags).map { #""\#($0)""# }.joined(separator: ",")
            return "{" + (0..<count).map { #""g\#($0)":[\#(list)]"# }.joined(separator: ",") + "}"
        }
        func read(_ text: String) throws -> TagChange {
            try ChannelBody.tags(JSONDocument(text).root.object(), isFromDevice: true)
        }
        let (few, many) = (groups(5, of: 100), groups(100, of: 4))
        let change = try read(#"{"add":\#(few),"remove":\#(many),"set":\#(groups(1, of: 100))}"#)
        #expect(change.remove.count == 100)
        let tooMany = #expect(throws: JSONError.self) {
            try read(#"{"add":\#(few),"remove":\#(few),"set":\#(groups(1, of: 1))}"#)
        }
        #expect(tooMany?.message == "must name at most 1000 tags in `add`, `remove` and `set` together, not 1001")
        // The rest of a device's batch is applied.
        let entry = #"{"action":"set","name":"n","token":"aa","action_ts_ms":1795284000000}"#
        let text = #"{"tags":{"add":\#(groups(11, of: 100))},"live_activities":[\#(entry)]}"#
        let batch = try BatchBody(Array(text.utf8), channel: channel)
        #expect(batch.tags == nil && batch.problems.map(\.path) == ["tags"] && batch.updates.count == 1)
    }

    @Test func `tags for many channels`() throws {
        let request = try ChannelBody.tagRequest(
            Array(#"{"audience":{"ios_channel":["a","b"]},"set":{"g":["t"]},"add":{"h":["u"]}}"#.utf8))
        #expect(request.channels.map(\.description) == ["a", "b"])
        #expect(request.change.set == ["g": ["t"]] && request.change.add == ["h": ["u"]])
        let many = (0..<1_001).map { "\"c\($0)\"" }.joined(separator: ",")
        for (text, path) in [
            (#"{"add":{"g":["t"]}}"#, "audience"), (#"{"audience":{},"add":{}}"#, "audience.ios_channel"),
            (#"{"audience":{"ios_channel":[]},"add":{}}"#, "audience.ios_channel"),
            (#"{"audience":{"ios_channel":[\#(many)]},"add":{}}"#, "audience.ios_channel"),
            (#"{"audience":{"ios_channel":"a"}}"#, ""), (#"{"audience":{"ios_channel":"a"},"add":["t"]}"#, "add"),
            (#"{"audience":{"ios_channel":"a"},"add":{"g":["t"]},"set":{"g":["u"]}}"#, "add"),
            (#"{"audience":{"ios_channel":"a"},"add":{"":["t"]}}"#, #"add[""]"#),
        ] {
            let error = try #require(throws: JSONError.self) { try ChannelBody.tagRequest(Array(text.utf8)) }
            #expect(error.path == path, "\(text)")
        }
    }

    @Test func `of tags for several platforms those that are served are applied, with a warning`() throws {
        let request = try ChannelBody.tagRequest(
            Array(
                #"{"audience":{"android_channel":["x"],"ios_channel":["a","b"],"channel":"c","amazon_channel":"y"},"add":{"g":["t"]}}"#
                    .utf8))
        #expect(request.channels.map(\.description) == ["a", "b", "x", "c"] && request.change.add == ["g": ["t"]])
        #expect(request.warnings.count == 1)
        #expect(request.warnings[0].contains("audience.amazon_channel is not tagged"))
        for text in [#"{"audience":{"amazon_channel":"x"},"add":{"g":["t"]}}"#, #"{"audience":{},"add":{"g":["t"]}}"#] {
            let error = try #require(throws: JSONError.self) { try ChannelBody.tagRequest(Array(text.utf8)) }
            #expect(error.path == "audience.ios_channel", "\(error)")
        }
    }

    @Test(arguments: [
        ("[]", ""), ("{}", "token"), (#"{"token":"zz"}"#, "token"), (#"{"token":"abc"}"#, "token"),
        (#"{"token":""}"#, "token"),
        (#"{"token":"\#(String(repeating: "ab", count: 2_000))"}"#, "token"),
        (#"{"token":"ab","registered_at_ms":1795284000}"#, "registered_at_ms"),
        (#"{"token":"ab","frequent_pushes_enabled":"yes"}"#, "frequent_pushes_enabled"),
        (#"{"token":"ab","tokn":1}"#, "tokn"), (#"{"token":"ab","options":true}"#, "options"),
        (#"{"token":"ab","options":{"catch_up":1}}"#, "options.catch_up"),
        (#"{"token":"ab","options":{"catchup":true}}"#, "options.catchup"),
    ])
    func `refuses a bad registration of a token`(text: String, path: String) throws {
        let error = try #require(throws: JSONError.self) {
            try TrackBody.read(Array(text.utf8), channel: channel, now: testNow)
        }
        #expect(error.path == path)
    }

    @Test func `an activity may start up to 30 days later`() throws {
        func single(_ start: Int64) throws(JSONError) -> Registration {
            let text = #"{"token":"ab","started_at_ms":\#(start)}"#
            return try TrackBody.read(Array(text.utf8), channel: channel, now: testNow).registration
        }
        func batch(_ start: Int64) throws(JSONError) -> BatchBody {
            let update =
                #"{"action":"set","name":"n","token":"ab","action_ts_ms":\#(testNow),"start_ts_ms":\#(start)}"#
            return try BatchBody(Array(#"{"live_activities":[\#(update)]}"#.utf8), channel: channel)
        }
        let last = testNow + 30 * 86_400_000
        #expect(try single(last).startedAt == last)
        guard case .set(_, let registration)? = try batch(last).updates.first else {
            Issue.record("no registration")
            return
        }
        #expect(registration.startedAt == last)

        let error = try #require(throws: JSONError.self) { try single(last + 1) }
        #expect(error.path == "started_at_ms" && "\(error)".contains("at most 30 days after now"), "\(error)")
        let late = try batch(last + 1)
        #expect(late.updates.isEmpty && late.problems.map(\.path) == ["live_activities[0].start_ts_ms"])
    }

    @Test func `a registration says whether it catches up, or the app's default does`() throws {
        for isDefault in [false, true] {
            for (options, expected) in [
                ("", isDefault), (#","options":{}"#, isDefault), (#","options":{"catch_up":true}"#, true),
                (#","options":{"catch_up":false}"#, false),
            ] {
                let single = try TrackBody.read(
                    Array(#"{"token":"ab"\#(options)}"#.utf8), channel: channel, now: testNow, catchesUp: isDefault)
                let line = try TrackBody.read(
                    Array(#"{"channel":"c","token":"ab"\#(options)}"#.utf8), channel: nil, now: testNow,
                    catchesUp: isDefault)
                #expect(single.registration.wantsState == expected && line.registration.wantsState == expected)
            }
            let update = #"{"action":"set","name":"n","token":"ab","action_ts_ms":1795284000000}"#
            let batch = try BatchBody(
                Array(#"{"live_activities":[\#(update)]}"#.utf8), channel: channel, catchesUp: isDefault)
            guard case .set(_, let registration) = batch.updates.first else {
                Issue.record("\(batch)")
                return
            }
            #expect(registration.wantsState == isDefault)
        }
    }
}

@Suite struct LineReaderTests {
    @Test(arguments: [1, 2, 3, 7, 100])
    func `cuts lines wherever the parts end`(size: Int) {
        let text = Array("one\n\nthree is too long\n4\r\nlast".utf8)
        var reader = LineReader(maximumBytes: 5)
        var lines: [LineReader.Line] = []
        for start in stride(from: 0, to: text.count, by: size) {
            lines += reader.read(text[start..<min(start + size, text.count)])
        }
        if let line = reader.finish() { lines.append(line) }
        #expect(
            lines == [
                .text(Array("one".utf8)), .text([]), .tooLong, .text(Array("4\r".utf8)), .text(Array("last".utf8)),
            ])
        #expect(reader.finish() == nil)
    }

    @Test func `a line without end keeps no memory`() {
        var reader = LineReader(maximumBytes: 10)
        for _ in 0..<1_000 { #expect(reader.read(Array(repeating: UInt8(ascii: "x"), count: 1_000)).isEmpty) }
        #expect(reader.finish() == .tooLong)
    }
}
