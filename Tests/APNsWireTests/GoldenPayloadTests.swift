import APNsWire
import LiveActivity
import Testing

/// Tests every form of payload that Apple's documentation of Live Activity pushes allows, byte for byte. ActivityKit
/// silently drops what it cannot decode, so after a wrong byte here the lock screen would not change.
@Suite struct GoldenPayloadTests {
    private static let state = RawJSON(checked: #"{"home":2,"clock":"67:12","odds":1.50}"#)
    private static let title = RawJSON(checked: #"{"title":"Goal","body":"2 : 1"}"#)
    private static let localized = RawJSON(
        checked: #"{"title":{"loc-key":"GOAL","loc-args":["Ada"]},"body":{"loc-key":"SCORE"},"sound":"goal.aiff"}"#)

    private static func publish(
        _ event: ActivityEvent, state: RawJSON? = nil, alert: RawJSON? = nil, stale: Int? = nil, dismissal: Int? = nil,
        relevance: String? = nil, attributes: Bool = false
    ) -> Publish {
        Publish(
            name: try! ActivityName("match-42"), event: event, audience: .all, contentState: state, staleDate: stale,
            dismissalDate: dismissal, relevanceScore: relevance.map { RawJSON(checked: $0) }, alert: alert,
            attributesType: attributes ? "MatchAttributes" : nil,
            attributes: attributes ? RawJSON(checked: #"{"home":"Ada","away":"Bob"}"#) : nil)
    }

    static let updates: [(Publish, String)] = [
        (
            publish(.update, state: state),
            #"{"aps":{"timestamp":1795284000,"event":"update","content-state":{"home":2,"clock":"67:12","odds":1.50}}}"#
        ),
        (
            publish(.update, state: state, stale: 1_795_284_900, relevance: "75"),
            #"{"aps":{"timestamp":1795284000,"event":"update","content-state":{"home":2,"clock":"67:12","odds":1.50},"#
                + #""stale-date":1795284900,"relevance-score":75}}"#
        ),
        (
            publish(.update, state: state, alert: title),
            #"{"aps":{"timestamp":1795284000,"event":"update","content-state":{"home":2,"clock":"67:12","odds":1.50},"#
                + #""alert":{"title":"Goal","body":"2 : 1"}}}"#
        ),
        (
            publish(.update, state: state, alert: localized, stale: 1_795_284_900),
            #"{"aps":{"timestamp":1795284000,"event":"update","content-state":{"home":2,"clock":"67:12","odds":1.50},"#
                + #""stale-date":1795284900,"alert":{"title":{"loc-key":"GOAL","loc-args":["Ada"]},"#
                + #""body":{"loc-key":"SCORE"},"sound":"goal.aiff"}}}"#
        ),
    ]

    /// By Apple's documentation the state and the dismissal date may be left out. A date in the past
    /// removes the card at once.
    static let ends: [(Publish, String)] = [
        (publish(.end), #"{"aps":{"timestamp":1795284000,"event":"end"}}"#),
        (
            publish(.end, dismissal: 0),
            #"{"aps":{"timestamp":1795284000,"event":"end","dismissal-date":0}}"#
        ),
        (
            publish(.end, dismissal: 1_795_287_600),
            #"{"aps":{"timestamp":1795284000,"event":"end","dismissal-date":1795287600}}"#
        ),
        (
            publish(.end, state: state),
            #"{"aps":{"timestamp":1795284000,"event":"end","content-state":{"home":2,"clock":"67:12","odds":1.50}}}"#
        ),
        (
            publish(.end, state: state, dismissal: 1_795_287_600),
            #"{"aps":{"timestamp":1795284000,"event":"end","content-state":{"home":2,"clock":"67:12","odds":1.50},"#
                + #""dismissal-date":1795287600}}"#
        ),
        (
            publish(.end, alert: title),
            #"{"aps":{"timestamp":1795284000,"event":"end","alert":{"title":"Goal","body":"2 : 1"}}}"#
        ),
        (
            publish(.end, state: state, alert: localized, stale: 1_795_284_900, dismissal: 0, relevance: "0.5"),
            #"{"aps":{"timestamp":1795284000,"event":"end","content-state":{"home":2,"clock":"67:12","odds":1.50},"#
                + #""stale-date":1795284900,"dismissal-date":0,"relevance-score":0.5,"#
                + #""alert":{"title":{"loc-key":"GOAL","loc-args":["Ada"]},"body":{"loc-key":"SCORE"},"sound":"goal.aiff"}}}"#
        ),
    ]

    static let starts: [(Publish, String)] = [
        (
            publish(.start, state: state, alert: title, attributes: true),
            #"{"aps":{"timestamp":1795284000,"event":"start","content-state":{"home":2,"clock":"67:12","odds":1.50},"#
                + #""attributes-type":"MatchAttributes","attributes":{"home":"Ada","away":"Bob"},"#
                + #""alert":{"title":"Goal","body":"2 : 1"},"input-push-token":1}}"#
        ),
        (
            publish(.start, state: state, alert: localized, stale: 1_795_284_900, relevance: "100", attributes: true),
            #"{"aps":{"timestamp":1795284000,"event":"start","content-state":{"home":2,"clock":"67:12","odds":1.50},"#
                + #""attributes-type":"MatchAttributes","attributes":{"home":"Ada","away":"Bob"},"#
                + #""stale-date":1795284900,"relevance-score":100,"alert":{"title":{"loc-key":"GOAL","loc-args":["Ada"]},"#
                + #""body":{"loc-key":"SCORE"},"sound":"goal.aiff"},"input-push-token":1}}"#
        ),
    ]

    /// The payload for devices that can get the activity's updates from the name's broadcast channel.
    @Test func `a start on a channel is exactly`() throws {
        let channel = try BroadcastChannelID("dHN0LXNyY2gtY2hubA==")
        let (publish, golden) = Self.starts[0]
        let onBroadcastChannel = Payload.start(
            Payload(publish, timestamp: 1_795_284_000).bytes, onBroadcastChannel: channel)
        let expected = golden.replacing(
            #""input-push-token":1"#, with: #""input-push-channel":"dHN0LXNyY2gtY2hubA==""#)
        #expect(onBroadcastChannel.map { String(decoding: $0, as: UTF8.self) } == expected)
    }

    @Test func `on a channel it must not be too large`() throws {
        let channel = try BroadcastChannelID("dHN0LXNyY2gtY2hubA==")
        func start(_ filler: Int) -> [UInt8] {
            let state = RawJSON(checked: #"{"text":"\#(String(repeating: "x", count: filler))"}"#)
            let title = RawJSON(checked: #"{"title":"t"}"#)
            let publish = Self.publish(.start, state: state, alert: title, attributes: true)
            return Payload(publish, timestamp: 1_795_284_000).bytes
        }
        let fixed =
            start(0).count + #""input-push-channel":"dHN0LXNyY2gtY2hubA==""#.utf8.count
            - #""input-push-token":1"#.utf8.count
        let room = Payload.maximumBytes - fixed
        #expect(Payload.start(start(room), onBroadcastChannel: channel)?.count == Payload.maximumBytes)
        #expect(Payload.start(start(room + 1), onBroadcastChannel: channel) == nil)
        #expect(
            Payload.start(Payload(Self.ends[0].0, timestamp: 1_795_284_000).bytes, onBroadcastChannel: channel) == nil)
    }

    /// An automatic end is the last update as it was sent, but with its own time and without the alert.
    @Test(arguments: updates)
    func `an end that shows an update is exactly`(update: Publish, golden: String) throws {
        let end = Payload(Self.publish(.end), timestamp: 1_795_299_999).bytes
        var expected = golden.replacing("1795284000", with: "1795299999").replacing(
            #""event":"update""#, with: #""event":"end""#)
        if let alert = expected.firstRange(of: #","alert":"#)?.lowerBound { expected = expected[..<alert] + "}}" }
        let shown = Payload(update, timestamp: 1_795_284_000).bytes
        #expect(String(decoding: Payload.end(end, showing: shown), as: UTF8.self) == expected)
        #expect(Payload.end(end, showing: nil) == end)
    }

    @Test func `an end that would be too large or shows no update shows nothing`() {
        let end = Payload(Self.publish(.end), timestamp: 1_795_299_999).bytes
        func update(_ filler: Int) -> [UInt8] {
            let state = RawJSON(checked: #"{"event":"update","alert":"\#(String(repeating: "x", count: filler))"}"#)
            return Payload(Self.publish(.update, state: state), timestamp: 1_795_284_000).bytes
        }
        // The word `end` is three bytes shorter than `update`.
        let room = Payload.maximumBytes - update(0).count + 3
        let largest = Payload.end(end, showing: update(room))
        #expect(largest.count == Payload.maximumBytes)
        #expect(String(decoding: largest, as: UTF8.self).contains(#"{"event":"update","alert":"xxx"#))
        #expect(Payload.end(end, showing: update(room + 1)) == end)
        for other in [Self.ends[0].0, Self.starts[0].0] {
            #expect(Payload.end(end, showing: Payload(other, timestamp: 1_795_284_000).bytes) == end)
        }
        #expect(Payload.end(end, showing: []) == end && Payload.end(end, showing: Array("{}".utf8)) == end)
    }

    @Test(arguments: updates + ends + starts)
    func `is exactly`(publish: Publish, golden: String) {
        #expect(String(decoding: Payload(publish, timestamp: 1_795_284_000).bytes, as: UTF8.self) == golden)
    }
}
