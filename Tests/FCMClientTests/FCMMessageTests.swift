import Delivery
import LiveActivity
import Testing

@testable import FCMClient
import FCMWire

@Suite struct FCMMessageTests {
    private static let push = PushID("0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b")!
    private static let now: Int64 = 1_000_000

    private func content(_ state: String = #"{"home":2,"note":"a \"b\" \u00e9 é"}"#) throws -> FCMContent {
        FCMContent(
            pushID: Self.push, name: try ActivityName("match-42"), event: .update, type: "match",
            timestamp: 1_795_284_000, contentState: RawJSON(checked: state), timeToLive: 900,
            expiration: 1_795_285_000)
    }

    /// The body for a device, as a lane puts it together.
    private func body(
        _ push: PreparedPush, _ address: AndroidAddress, _ channel: ChannelID, registeredAt: Int64 = 0,
        now: Int64 = Self.now
    ) -> String {
        guard case .ofEntry(let pieces) = push.body else { return "" }
        let bytes = pieces.flatMap { piece -> [UInt8] in
            switch piece {
            case .bytes(let bytes): return bytes
            case .address: return address.stored
            case .addressByKind(let kinds): return (kinds[address.stored[0]] ?? []) + address.stored.dropFirst()
            case .channel: return Array(channel.description.utf8)
            case .registration(let time): return registeredAt > time ? Array("-\(registeredAt)".utf8) : []
            case .secondsLeft(let time, let most): return Array("\(min((time - now) / 1_000, Int64(most)))".utf8)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func `a message has exactly these bytes`() throws {
        let token = try AndroidAddress(.token, "cTmU:APA91b_-x")
        let fid = try AndroidAddress(.fid, "cTmUK-7_S2eK9aY6Y2Ds0x")
        let channel = try ChannelID("01234567-89ab-cdef-0123-456789abcdef")
        let push = FCMMessage.render(try content(), project: "shop-1", now: Self.now)
        #expect(push.path == .shared("/v1/projects/shop-1/messages:send"))
        #expect(push.fields == [Exchange.Field("content-type", "application/json")] && push.refusal == nil)
        func expected(_ target: String) -> String {
            #"{"message":{"\#(target)","data":{"#
                + #""com.urbanairship.push.PUSH_ID":"0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b","#
                + #""com.urbanairship.push.CANONICAL_PUSH_ID":"0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b","#
                + #""com.urbanairship.push.APID":"01234567-89ab-cdef-0123-456789abcdef","#
                + #""com.urbanairship.push.EXPIRATION":"1795285000","#
                + #""com.urbanairship.live_update":"{\"name\":\"match-42\",\"event\":\"update\",\"type\":\"match\","#
                + #"\"timestamp\":1795284000,"#
                + #"\"content_state\":{\"home\":2,\"note\":\"a \\\"b\\\" \\u00e9 é\"}}"},"#
                + #""android":{"priority":"high","ttl":"900s"}}}"#
        }
        #expect(body(push, token, channel) == expected(#"token":"cTmU:APA91b_-x"#))
        #expect(body(push, fid, channel) == expected(#"fid":"cTmUK-7_S2eK9aY6Y2Ds0x"#))
        // FCM keeps it no longer because it waited for its turn.
        #expect(body(push, token, channel, now: Self.now + 60_000).contains(#""ttl":"840s""#))
    }

    @Test func `FCM keeps an update for 15 minutes, however long it waited for its turn`() throws {
        let second = 1_795_284_000
        func ttl(stale: Int? = nil, expiry: Int? = nil, waited: Int64) throws -> Substring {
            let android = PlatformContent(
                contentState: RawJSON(checked: "{}"), staleDate: stale.map { second + $0 })
            let content = FCMContent(
                android, pushID: Self.push, name: try ActivityName("match-42"), event: .update, second: second,
                priority: .high, expiry: expiry.map { second + $0 }, deadline: Int64(second + 3_600) * 1_000,
                now: Int64(second) * 1_000)
            let text = body(
                FCMMessage.render(content, project: "p", now: Self.now), try AndroidAddress(.token, "t"),
                try ChannelID("c"), now: Self.now + waited * 1_000)
            let value = try #require(text.firstRange(of: #""ttl":""#))
            return text[value.upperBound...].prefix { $0 != "\"" }
        }
        for waited: Int64 in [0, 900, 2_700] { #expect(try ttl(waited: waited) == "900s", "\(waited)") }
        // Its life and its stale date are times, and so is an expiry.
        #expect(try ttl(waited: 3_000) == "600s")
        #expect(try ttl(stale: 1_200, waited: 1_000) == "200s")
        #expect(try ttl(expiry: 3_600, waited: 1_200) == "2400s")
    }

    @Test func `an end has its dismissal date, and a message what its app asks for`() throws {
        var content = try content("{}")
        (content.event, content.dismissalDate, content.priority) = (.end, 1_795_290_000, .low)
        (content.type, content.expiration, content.timeToLive) = (nil, nil, 9_999_999)
        (content.collapseKey, content.extra) = ("c\"", ["b": "2", "a": "1"])
        content.ownIDAfter = 1_795_284_000_122
        let text = body(
            FCMMessage.render(content, project: "p", isCheck: true, now: Self.now), try AndroidAddress(.token, "t"),
            try ChannelID("c"), registeredAt: 1_795_284_000_123)
        #expect(text.hasPrefix(#"{"validate_only":true,"message":{"token":"t","data":{"#))
        #expect(text.contains(#"CANONICAL_PUSH_ID":"0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b-1795284000123""#))
        #expect(
            text.contains(
                #"\"event\":\"end\",\"timestamp\":1795284000,\"content_state\":{},\"dismissal_date\":1795290000}"#))
        #expect(
            text.hasSuffix(
                #","a":"1","b":"2"},"android":{"priority":"normal","ttl":"2419200s","collapse_key":"c\""}}}"#))
        #expect(!text.contains("EXPIRATION"))
    }

    @Test func `FCM keeps a message until its expiry, and no longer than its state is fresh`() throws {
        let second = 1_795_284_000
        let name = try ActivityName("match-42")
        func timeToLive(_ event: ActivityEvent, stale: Int?, expiry: Int?) -> Int {
            let android = PlatformContent(
                contentState: RawJSON(checked: "{}"), staleDate: stale.map { second + $0 }, collapseKey: "score")
            // Without an expiry the push lives for an hour.
            let life = expiry ?? 3_600
            let content = FCMContent(
                android, pushID: Self.push, name: name, event: event, second: second, priority: .high,
                expiry: expiry.map { $0 == 0 ? 0 : second + $0 }, deadline: Int64(second + life) * 1_000,
                now: Int64(second) * 1_000)
            #expect(content.expiration == second + life && content.collapseKey == "score")
            return min(content.timeToLive, content.keptAtMost ?? .max)
        }
        #expect(timeToLive(.update, stale: nil, expiry: nil) == 900)
        #expect(timeToLive(.update, stale: nil, expiry: 1_800) == 1_800)
        #expect(timeToLive(.update, stale: 60, expiry: nil) == 60)
        #expect(timeToLive(.update, stale: 60, expiry: 600) == 60)
        #expect(timeToLive(.update, stale: 600, expiry: 60) == 60)
        #expect(timeToLive(.update, stale: 1_800, expiry: nil) == 900)
        #expect(timeToLive(.update, stale: -5, expiry: nil) == 0)
        #expect(timeToLive(.update, stale: 60, expiry: 0) == 0)
        #expect(timeToLive(.start, stale: 60, expiry: nil) == 60)
        #expect(timeToLive(.end, stale: 60, expiry: nil) == 3_600, "the card has to go")
    }

    @Test func `a message over 4,096 bytes of keys and values is refused before it is sent`() throws {
        let around = FCMMessage.dataBytes(try content(#""""#))
        let fits = try content("\"\(String(repeating: "x", count: FCMMessage.maximumData - around))\"")
        #expect(FCMMessage.dataBytes(fits) == 4_096)
        #expect(FCMMessage.render(fits, project: "p").refusal == nil)
        let long = try content("\"\(String(repeating: "x", count: FCMMessage.maximumData - around + 1))\"")
        #expect(FCMMessage.render(long, project: "p").refusal == "MESSAGE_TOO_LARGE")
        // FCM counts the text that the device gets, without the escapes of the request.
        let quotes = try content("\"\(String(repeating: #"\""#, count: (FCMMessage.maximumData - around) / 2))\"")
        #expect(FCMMessage.render(quotes, project: "p").refusal == nil)
    }

    @Test func `keys of Google and of the SDK are not the app's`() {
        for key in ["from", "message_type", "google.c", "gcm.x", "com.urbanairship.live_update", ""] {
            #expect(!FCMContent.isAllowed(extraKey: key), "\(key)")
        }
        #expect(FCMContent.isAllowed(extraKey: "order") && FCMContent.isAllowed(extraKey: "From"))
    }
}
