import LiveActivity
import Testing

@Suite struct PublishTests {
    @Test func `only a silent update that did not opt out is supersedable`() throws {
        let alert = RawJSON(checked: #"{"title":"T","body":"B"}"#)
        let name = try ActivityName("order-1234")
        for event in ActivityEvent.allCases {
            for hasAlert in [false, true] {
                for conflate in [false, true] {
                    let publish = Publish(
                        name: name, event: event, audience: .all, alert: hasAlert ? alert : nil,
                        options: PublishOptions(conflate: conflate))
                    #expect(publish.isSupersedable == (event == .update && !hasAlert && conflate))
                }
            }
        }
    }

    @Test func `priorities are Apple's`() {
        #expect(PushPriority.allCases.map(\.rawValue) == [5, 10])
        #expect(PushPriority(rawValue: 7) == nil)
        #expect(ActivityEvent(rawValue: "upd") == nil)
    }

    @Test func `a publisher is stored with the second person, and read as it was`() throws {
        var publisher = Publisher(credential: "shop", address: "2001:db8::1", who: "Ann B", whoID: "7 \u{FC}")
        #expect(Publisher(stored: publisher.stored) == publisher)
        for (who, id) in [("Bob + C", "a+b c"), ("Bob", nil), (nil, nil)] as [(String?, String?)] {
            publisher.second = Publisher.Second(Publisher(credential: "oidc", address: "::1", who: who, whoID: id))
            #expect(Publisher(stored: publisher.stored) == publisher, "\(publisher.stored)")
        }
        var plain = Publisher(credential: "master", address: "::1")
        plain.second = Publisher.Second(Publisher(credential: "bob", address: "::2"))
        #expect(plain.stored == "master ::1+bob" && Publisher(stored: plain.stored) == plain)
    }
}
