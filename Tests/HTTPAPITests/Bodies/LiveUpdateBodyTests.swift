import LiveActivity
import Testing

@testable import HTTPAPI

/// `notification.android.live_update`, alone and beside a Live Activity.
@Suite struct LiveUpdateBodyTests {
    private static let both: Set<Platform> = [.ios, .android]

    private func parse(
        _ notification: String, _ types: String = #"["ios","android"]"#, audience: String = #""all""#,
        options: String = "", _ platforms: Set<Platform> = both, staleAfter: Int? = nil
    ) throws -> [PublishBody.Push] {
        let text = """
            {"audience":\(audience),"device_types":\(types),"notification":{\(notification)}\(options)}
            """
        return try PublishBody.parse(
            Array(text.utf8), now: testNow, .init(platforms: platforms, staleAfter: staleAfter))
    }

    private let ios = #""ios":{"live_activity":{"name":"match-42","event":"update","content_state":{"home":1}}}"#
    private func android(_ name: String = "match-42", rest: String = "") -> String {
        #""android":{"live_update":{"name":"\#(name)","event":"update","content_state":{"home": 1,"é":"\n"}\#(rest)}}"#
    }

    @Test func `one name in both blocks is one push with a content for each platform`() throws {
        let pushes = try parse(ios + "," + android(rest: #","type":"match""#))
        #expect(pushes.count == 1)
        let push = try #require(pushes.first)
        #expect(push.publish.audience == .all && push.publish.platforms == [.ios, .android] && push.warnings.isEmpty)
        let content = try #require(push.publish.contents[.android])
        #expect(content.type == "match")
        // As the publisher wrote it, byte for byte.
        #expect(content.contentState.map { String(decoding: $0.bytes, as: UTF8.self) } == #"{"home": 1,"é":"\n"}"#)
        let stored = PushContent(stored: push.payload(for: .random()))
        #expect(stored.contents[.android] == content && stored.payload == push.payload)
    }

    @Test func `two names are two pushes, each for its platform`() throws {
        let pushes = try parse(ios + "," + android("order-7"))
        #expect(pushes.map(\.publish.name.rawValue) == ["match-42", "order-7"])
        #expect(pushes.map(\.publish.platforms) == [[.ios], [.android]])
        // Followers on the other platform are not in the audience.
        #expect(pushes.map(\.publish.audience) == [.platform(.ios), .platform(.android)])
    }

    @Test func `a push for Android alone is for everybody in an app that has nothing else`() throws {
        let push = try parse(android(), #"["android"]"#, [.android])[0]
        #expect(push.publish.audience == .all && push.publish.platforms == [.android])
        // Airship's default.
        #expect(push.publish.priority == .low)
        let among = try parse(android(), #"["android"]"#, audience: #"{"tag":"a"}"#)[0]
        #expect(
            among.publish.audience == .and([.platform(.android), .tag("a", group: Audience.deviceGroup)]))
    }

    @Test func `a block of a platform that the push or the app leaves out is named in a warning`() throws {
        for (types, platforms) in [(#"["ios"]"#, Self.both), (#"["ios","android"]"#, [.ios]), (#""all""#, [.ios])] {
            let push = try parse(ios + "," + android(), types, platforms)[0]
            #expect(push.publish.platforms == [.ios])
            #expect(push.warnings == ["notification.android is not sent: Lamplighter sends Live Activities only"])
        }
    }

    @Test func `delivery_priority, time_to_live and collapse_key`() throws {
        let text = android().dropLast() + #","delivery_priority":"high","time_to_live":60,"collapse_key":"score"}"#
        let push = try parse(String(text), #"["android"]"#)[0]
        #expect(push.publish.priority == .high && push.publish.options.expiry == Int(testNow / 1_000) + 60)
        #expect(push.publish.contents[.android]?.collapseKey == "score" && push.warnings.isEmpty)
        #expect(try parse(ios + "," + String(text))[0].publish.contents[.android]?.collapseKey == "score")
        #expect(try parse(ios + "," + android())[0].publish.contents[.android]?.collapseKey == nil)
    }

    @Test(arguments: [(#""all""#, true), (#""opted_in""#, false)])
    func `deliver_to says whether silent devices are reached`(value: String, reachesSilent: Bool) throws {
        let push = try parse(android().dropLast() + #","deliver_to":\#(value)}"#, #"["android"]"#)[0]
        #expect(push.publish.contents[.android]?.reachesSilent == reachesSilent && push.warnings.isEmpty)
    }

    @Test func `the stale date of the Live Activity and the app's default hold on Android too`() throws {
        let now = Int(testNow / 1_000)
        let dated = ios.replacing(#""event":"update""#, with: #""event":"update","stale_date":\#(now + 60)"#)
        func staleDate(_ notification: String, staleAfter: Int? = nil) throws -> Int? {
            try #require(try parse(notification, staleAfter: staleAfter).last?.publish.contents[.android]).staleDate
        }
        #expect(try staleDate(dated + "," + android()) == now + 60)
        #expect(try staleDate(dated + "," + android(), staleAfter: 600) == now + 60)
        #expect(try staleDate(ios + "," + android(), staleAfter: 600) == now + 600)
        #expect(try staleDate(ios + "," + android()) == nil)
        // A push of its own name.
        #expect(try staleDate(dated + "," + android("order-7")) == nil)
        #expect(try staleDate(android("order-7"), staleAfter: 600) == now + 600)
        let end = #""android":{"live_update":{"name":"order-7","event":"end"}}"#
        #expect(try staleDate(end, staleAfter: 600) == nil)
    }

    @Test func `what belongs to an ordinary notification brings a warning`() throws {
        let text = #""android":{"alert":"Goal","live_update":{"name":"n","event":"end"}}"#
        let push = try parse(text, #"["android"]"#)[0]
        #expect(push.warnings == ["notification.android.alert is not sent: Lamplighter sends Live Activities only"])
        #expect(throws: (any Error).self) { try parse(#""android":{"alertt":"x"}"#, #"["android"]"#) }
    }

    @Test(arguments: [
        (#""android":{"live_update":{"name":"n","event":"update"}}"#, "notification.android.live_update.content_state"),
        (#""android":{"live_update":{"event":"end"}}"#, "notification.android.live_update.name"),
        (
            #""android":{"live_update":{"name":"n","event":"start","content_state":{}}}"#,
            "notification.android.live_update.type"
        ),
        (#""android":{"live_update":{"name":"n","event":"stop"}}"#, "notification.android.live_update.event"),
        (#""android":{"live_update":{"name":"n","event":"end","titel":1}}"#, "notification.android.live_update.titel"),
        (
            #""android":{"live_update":{"name":"n","event":"end"},"delivery_priority":"loud"}"#,
            "notification.android.delivery_priority"
        ),
        (
            #""android":{"live_update":{"name":"n","event":"end"},"time_to_live":2419201}"#,
            "notification.android.time_to_live"
        ),
        (
            #""android":{"live_update":{"name":"n","event":"end"},"collapse_key":""}"#,
            "notification.android.collapse_key"
        ),
        (
            #""android":{"live_update":{"name":"n","event":"end"},"deliver_to":"everyone"}"#,
            "notification.android.deliver_to"
        ),
        (#""android":{}"#, "notification.android.live_update"),
        (
            #""ios":{"live_activity":{"name":"n","event":"update","content_state":{}}},"#
                + #""android":{"live_update":{"name":"n","event":"end"}}"#,
            "notification.android.live_update.event"
        ),
    ])
    func `a wrong block is refused with its path`(notification: String, path: String) throws {
        #expect {
            try parse(notification)
        } throws: { error in
            APIError(thrown: error).details?.path == path
        }
    }

    @Test func `a message over Google's limit is refused`() throws {
        let state = String(repeating: "a", count: 3_700)
        #expect {
            try parse(
                #""android":{"live_update":{"name":"n","event":"update","content_state":{"a":"\#(state)"}}}"#,
                #"["android"]"#)
        } throws: { error in
            APIError(thrown: error).message.contains("Google's limit is 4096")
        }
    }

    @Test func `an audience may name Android channels of an app that sends to Android`() throws {
        let audience = #"{"or":[{"android_channel":"a"},{"ios_channel":"b"}]}"#
        let push = try parse(ios + "," + android(), audience: audience)[0]
        #expect(push.publish.audience == .or([.channel(try ChannelID("a")), .channel(try ChannelID("b"))]))
    }
}
