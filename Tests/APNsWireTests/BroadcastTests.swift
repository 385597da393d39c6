import APNsWire
import Delivery
import LiveActivity
import Testing

/// Tests broadcasts and channel management byte by byte, as Apple's articles show them.
@Suite struct BroadcastTests {
    private let channel: BroadcastChannelID
    init() throws { channel = try BroadcastChannelID("dHN0LXNyY2gtY2hubA==") }

    private func lines(_ fields: [Exchange.Field]) -> [String] {
        fields.map { "\($0.name): \($0.value)" }
    }

    private func broadcast(
        _ storage: BroadcastStorage, _ priority: PushPriority, expiration: Int, _ payload: [UInt8] = []
    ) -> PreparedPush {
        .broadcast(
            bundleID: "com.example.scores", channel: channel, storage: storage, priority: priority,
            expiration: expiration, payload: payload)
    }

    @Test func `a broadcast is golden`() throws {
        let broadcast = broadcast(
            .newest, .high, expiration: 1_732_208_400,
            Payload(
                Publish(
                    name: try ActivityName("match-42"), event: .update, audience: .all,
                    contentState: RawJSON(checked: #"{"home":1}"#)), timestamp: 1_732_204_800
            ).bytes)
        #expect(broadcast.path == .shared("/4/broadcasts/apps/com.example.scores"))
        #expect(
            lines(broadcast.fields) == [
                "apns-channel-id: dHN0LXNyY2gtY2hubA==", "apns-push-type: liveactivity", "apns-expiration: 1732208400",
                "apns-priority: 10",
            ])
        #expect(
            String(decoding: broadcast.payload, as: UTF8.self)
                == #"{"aps":{"timestamp":1732204800,"event":"update","content-state":{"home":1}}}"#)
    }

    /// A device push has a topic and may leave out its expiration. A broadcast has no topic and
    /// must have an expiration.
    @Test func `a device's headers are others`() {
        let device = PreparedPush(bundleID: "com.example.scores", priority: .low, payload: [])
        #expect(
            lines(device.fields) == [
                "apns-push-type: liveactivity", "apns-topic: com.example.scores.push-type.liveactivity",
                "apns-priority: 5",
            ])
        #expect(
            broadcast(.newest, .low, expiration: 0).fields.map(\.name) == [
                "apns-channel-id", "apns-push-type", "apns-expiration", "apns-priority",
            ])
    }

    @Test func `without storage the expiration is zero`() {
        let broadcast = broadcast(.none, .high, expiration: 1_732_208_400)
        #expect(lines(broadcast.fields).contains("apns-expiration: 0"))
    }

    @Test func `the limits`() {
        #expect(Payload.maximumBytes == 4_096)
        #expect(Payload.maximumBroadcastBytes == 5_120)
        #expect(BroadcastChannelRequest.maximumChannels == 10_000)
    }

    @Test func `the managements requests are golden`() {
        func text(_ request: BroadcastChannelRequest) -> [String] {
            ["\(request.method) \(request.path(bundleID: "com.example.scores"))"] + lines(request.fields)
                + (request.body.map { [String(decoding: $0, as: UTF8.self)] } ?? []) + ["\(request.status)"]
        }
        #expect(
            text(.create(.none)) == [
                "POST /1/apps/com.example.scores/channels", "content-type: application/json",
                #"{"message-storage-policy":0,"push-type":"LiveActivity"}"#, "201",
            ])
        #expect(text(.create(.newest))[2] == #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#)
        #expect(
            text(.read(channel)) == [
                "GET /1/apps/com.example.scores/channels", "apns-channel-id: dHN0LXNyY2gtY2hubA==", "200",
            ])
        #expect(
            text(.delete(channel)) == [
                "DELETE /1/apps/com.example.scores/channels", "apns-channel-id: dHN0LXNyY2gtY2hubA==", "204",
            ])
        #expect(text(.list) == ["GET /1/apps/com.example.scores/all-channels", "200"])
    }

    @Test func `channel i ds are base64`() throws {
        for good in ["YWI=", "YQ==", "YWJj", "+/+/"] { #expect(try BroadcastChannelID(good).rawValue == good) }
        let long = String(repeating: "YWJj", count: 65)
        for bad in ["", "YWI", "YW I", "====", "a-_=", long, "YWI=\r\n"] {
            #expect(throws: IdentifierError.self) { try BroadcastChannelID(bad) }
        }
    }
}
