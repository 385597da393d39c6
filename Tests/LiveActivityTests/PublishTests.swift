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
}
