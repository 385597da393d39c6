import APNsWire
import LiveActivity
import Testing

/// The push mark in a content state.
@Suite struct PushMarkTests {
    private let id = PushID(UUIDBytes(high: 0x019A_1B6E_B16A_7C58, low: 0xB78D_181D_5E24_2078))

    @Test func `the id is written into the mark, and nowhere else`() throws {
        for (state, rest) in [
            (#"{"n":1,"lamplighter2":"AAAAAAAAAAAAAAAAAAAAAA"}"#, #","n":1,"lamplighter2":"AAAAAAAAAAAAAAAAAAAAAA"}"#),
            ("{}", "}"), ("{ \n}", " \n}"), (#"{ "a":{}}"#, #", "a":{}}"#),
        ] {
            for event in ActivityEvent.allCases {
                var publish = Publish(
                    name: try ActivityName("n"), event: event, audience: .all, staleDate: 1_732_208_400,
                    attributesType: event == .start ? "T" : nil)
                publish.contentState = Payload.withMark(RawJSON(checked: state))
                let rendered = Payload(publish, timestamp: 1_732_204_800).bytes
                let text = String(decoding: Payload.marked(rendered, event, with: id), as: UTF8.self)
                let head = #"{"aps":{"timestamp":1732204800,"event":"\#(event.rawValue)","content-state":"#
                #expect(text.hasPrefix(head + #"{"lamplighter":"AZobbrFqfFi3jRgdXiQgeA""# + rest + ","), "\(text)")
                #expect(text.utf8.count == rendered.count)
                publish.contentState = RawJSON(checked: state)
                let unmarked = Payload(publish, timestamp: 1_732_204_800).bytes
                #expect(Payload.marked(unmarked, event, with: id) == unmarked)
            }
        }
    }

    @Test func `an automatic end shows the mark of the update`() {
        let update = Array(
            #"{"aps":{"timestamp":1732204800,"event":"update","content-state":{"lamplighter":"AZobbrFqfFi3jRgdXiQgeA"}}}"#
                .utf8)
        let end = Payload.end(Array(#"{"aps":{"timestamp":1732209999,"event":"end"}}"#.utf8), showing: update)
        #expect(String(decoding: end, as: UTF8.self).contains(id.short))
    }
}
