import LiveActivity
import Testing

/// The content of a push for several platforms, as the store keeps it.
@Suite struct PushContentTests {
    private let payload = Array(#"{"aps":{"timestamp":1795284000,"event":"update","content-state":{"a":1}}}"#.utf8)

    private func contents(_ android: PlatformContent, _ besideIOS: Bool) -> [Platform: PlatformContent] {
        besideIOS ? [.ios: .payload, .android: android] : [.android: android]
    }

    @Test func `a push for iOS is its payload alone`() {
        #expect(PushContent(payload: payload).stored == payload)
        #expect(PushContent(stored: payload) == PushContent(payload: payload))
    }

    @Test(arguments: [
        PlatformContent(), PlatformContent(type: "match"),
        PlatformContent(
            type: "match", contentState: RawJSON(checked: #"{"a":"\u0000","b":"é"}"#), dismissalDate: 1_795_284_600),
        PlatformContent(contentState: RawJSON(checked: "{}"), staleDate: 1_795_284_900, collapseKey: "é \""),
        PlatformContent(contentState: RawJSON(checked: "{}"), reachesSilent: true),
        PlatformContent(staleDate: 1_795_284_900), PlatformContent(collapseKey: "score"),
    ])
    func `each part comes back`(android: PlatformContent) {
        for besideIOS in [true, false] {
            let content = PushContent(payload: payload, contents: contents(android, besideIOS))
            #expect(PushContent(stored: content.stored) == content)
            // A reader of the payload finds it in front.
            #expect(content.stored.prefix(payload.count) == payload[...])
        }
    }

    @Test func `the parts stand in the stored order`() {
        let content = PlatformContent(
            type: "match", contentState: RawJSON(checked: "{}"), dismissalDate: 1, staleDate: 2, collapseKey: "score",
            reachesSilent: true)
        for besideIOS in [true, false] {
            let stored = PushContent(payload: [], contents: contents(content, besideIOS)).stored
            let alone = besideIOS ? "" : "1"
            #expect(String(decoding: stored, as: UTF8.self) == "\0\(alone)\0match\01\02\01\0score\0{}")
        }
    }
}
