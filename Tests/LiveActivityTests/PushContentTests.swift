import LiveActivity
import Testing

/// The content of a push for several platforms, as the store keeps it.
@Suite struct PushContentTests {
    private let payload = Array(#"{"aps":{"timestamp":1795284000,"event":"update","content-state":{"a":1}}}"#.utf8)

    @Test func `a push for iOS is its payload alone`() {
        #expect(PushContent(payload: payload).stored == payload)
        #expect(PushContent(stored: payload) == PushContent(payload: payload))
    }

    @Test(arguments: [
        AndroidContent(), AndroidContent(type: "match"), AndroidContent(isAlone: true),
        AndroidContent(
            type: "match", contentState: RawJSON(checked: #"{"a":"\u0000","b":"é"}"#), dismissalDate: 1_795_284_600,
            isAlone: true),
        AndroidContent(
            contentState: RawJSON(checked: "{}"), staleDate: 1_795_284_900, collapseKey: "é \""),
        AndroidContent(staleDate: 1_795_284_900), AndroidContent(collapseKey: "score"),
    ])
    func `each part comes back`(android: AndroidContent) {
        let content = PushContent(payload: payload, android: android)
        #expect(PushContent(stored: content.stored) == content)
        // A reader of the payload finds it in front.
        #expect(content.stored.prefix(payload.count) == payload[...])
    }
}
