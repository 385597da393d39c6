import APNsWire
import Delivery
import LiveActivity
import Testing

@Suite struct PayloadTests {
    private let name: ActivityName
    init() throws { name = try ActivityName("order-1234") }

    private func text(_ publish: Publish, timestamp: Int = 1_732_204_800) -> String {
        String(decoding: Payload(publish, timestamp: timestamp).bytes, as: UTF8.self)
    }

    @Test func `an update is golden`() {
        let publish = Publish(
            name: name, event: .update, audience: .all,
            contentState: RawJSON(checked: #"{"eta": 12.50, "big":12345678901234567890, "e":1E+2,"ä":"\u00e4"}"#),
            staleDate: 1_732_208_400, relevanceScore: RawJSON(checked: "100.0"))
        #expect(
            text(publish) == #"{"aps":{"timestamp":1732204800,"event":"update","#
                + #""content-state":{"eta": 12.50, "big":12345678901234567890, "e":1E+2,"ä":"\u00e4"},"#
                + #""stale-date":1732208400,"relevance-score":100.0}}"#)
    }

    /// The store keeps an update's content state without the text around it.
    @Test func `an update with a content state alone has the stored frame`() {
        let update = Publish(name: name, event: .update, audience: .all, contentState: RawJSON(checked: #"{"eta":12}"#))
        let frame = Platform.storedFrame
        #expect(text(update) == frame.before.replacing("%s", with: "1732204800") + #"{"eta":12}"# + frame.after)
    }

    @Test func `an end may leave out its state`() {
        let publish = Publish(name: name, event: .end, audience: .all, dismissalDate: 0)
        #expect(text(publish) == #"{"aps":{"timestamp":1732204800,"event":"end","dismissal-date":0}}"#)
        #expect(
            text(Publish(name: name, event: .end, audience: .all)) == #"{"aps":{"timestamp":1732204800,"event":"end"}}"#
        )
    }

    @Test func `the alert can be taken out`() {
        let state = RawJSON(checked: #"{"alert":{"title":"\\"},"a":["},","alert\":",{"alert":1}]}"#)
        for (relevance, event) in [(nil, ActivityEvent.update), (RawJSON(checked: "1"), .end)] {
            func publish(_ alert: RawJSON?) -> [UInt8] {
                Payload(
                    Publish(
                        name: name, event: event, audience: .all, contentState: state, relevanceScore: relevance,
                        alert: alert), timestamp: 1_732_204_800
                ).bytes
            }
            let silent = publish(nil)
            for alert in [#"{"title":"}},\"alert\":","body":{"loc-key":"K","loc-args":["]"]}}"#, "{ }"] {
                #expect(Payload.withoutAlert(publish(RawJSON(checked: alert))) == silent)
            }
            #expect(Payload.withoutAlert(silent) == silent)
        }
        #expect(Payload.withoutAlert([]) == [])
    }

    @Test func `a start carries its attributes and alert`() {
        let publish = Publish(
            name: name, event: .start, audience: .all, contentState: RawJSON(checked: "{}"),
            alert: RawJSON(checked: #"{"title":{"loc-key":"T"},"body":"B","sound":"s"}"#),
            attributesType: "Delivery\"\\\n\u{1F}é", attributes: RawJSON(checked: #"{"id":1.0}"#))
        #expect(
            text(publish) == #"{"aps":{"timestamp":1732204800,"event":"start","content-state":{},"#
                + #""attributes-type":"Delivery\"\\\u000a\u001fé","attributes":{"id":1.0},"#
                + #""alert":{"title":{"loc-key":"T"},"body":"B","sound":"s"},"input-push-token":1}}"#)
    }

    /// The script that commits a push overwrites these ten bytes with the final time.
    @Test func `the timestamps digits lie where they are said to lie`() {
        for event in ActivityEvent.allCases {
            for timestamp in [Payload.timestampRange.lowerBound, 1_732_204_800, Payload.timestampRange.upperBound] {
                let publish = Publish(name: name, event: event, audience: .all, contentState: RawJSON(checked: "{}"))
                var bytes = Payload(publish, timestamp: timestamp).bytes
                let place = Payload.timestampOffset..<Payload.timestampOffset + Payload.timestampDigits
                #expect(String(decoding: bytes[place], as: UTF8.self) == "\(timestamp)")
                #expect(bytes[place.upperBound] == UInt8(ascii: ","))
                bytes.replaceSubrange(place, with: "1234567890".utf8)
                #expect(bytes == Payload(publish, timestamp: 1_234_567_890).bytes)
            }
        }
    }
}

@Suite struct PreparedPushTests {
    @Test func `all fields in their order`() {
        let push = PreparedPush(
            bundleID: "com.example.app", priority: .high, expiration: 1_732_208_400, collapseID: "order", payload: [])
        #expect(push.path == .hexAddress(after: "/3/device/"))
        #expect(
            push.fields.map { "\($0.name): \($0.value)" } == [
                "apns-push-type: liveactivity", "apns-topic: com.example.app.push-type.liveactivity",
                "apns-priority: 10",
                "apns-expiration: 1732208400", "apns-collapse-id: order",
            ])
    }

    @Test func `what is not set is not sent`() {
        let push = PreparedPush(bundleID: "com.example.app", priority: .low, payload: [])
        #expect(push.fields.map(\.name) == ["apns-push-type", "apns-topic", "apns-priority"])
        #expect(push.fields.map(\.value) == ["liveactivity", "com.example.app.push-type.liveactivity", "5"])
        // Zero is Apple's "try once" and differs from no expiration.
        let once = PreparedPush(bundleID: "com.example.app", priority: .low, expiration: 0, payload: [])
        #expect(once.fields.last?.value == "0")
    }
}
