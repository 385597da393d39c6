import APNsSimulator
import Delivery
import FCMClient
import FCMWire
import Lanes
import LiveActivity
import TestSupport
import Testing

/// FCM's own rules, which other platforms do not have, against the simulator.
@Suite struct FCMTransportTests {
    private func push(_ number: Int, _ event: ActivityEvent, project: String) throws -> PreparedPush {
        FCMMessage.render(
            FCMContent(
                pushID: .random(), name: try ActivityName("match-42"), event: event, type: "match",
                timestamp: 1_795_284_000 + number,
                contentState: RawJSON(checked: #"{"home":\#(number),"text":"a \"b\" é"}"#), timeToLive: 900),
            project: project)
    }

    @Test(arguments: TransportKind.allCases)
    func `a phone shows what was sent, under its channel, whatever kind its address is`(
        _ kind: TransportKind
    ) async throws {
        var setup = PlatformUnderTest.Setup()
        setup.lanes = 3
        try await PlatformUnderTest.withFCM(kind, setup) { simulator, transport, project in
            let fid = try AndroidAddress(.fid, "cTmUK-7_S2eK9aY6Y2Ds0x")
            let token = try AndroidAddress(.token, "cTmUK:APA91b" + String(repeating: "Zz0-_", count: 24))
            let channels = [ChannelID.random(), try ChannelID(#"install "7" \ é"#)]
            var page = TokenPage()
            for (address, channel) in zip([fid, token], channels) {
                page.append(
                    channel: channel.stored, token: address.stored, registeredAt: 0, platform: .android)
            }
            #expect(await transport.send(page, try push(1, .start, project: project)).accepted == 2)
            #expect(await transport.send(page, try push(2, .update, project: project)).accepted == 2)
            for (address, channel) in zip([fid, token], channels) {
                let report = try #require(simulator.fcmReport(address.text))
                #expect(report.kind == address.kind.field && report.channel == channel.description)
                let card = try #require(report.cards["match-42"])
                #expect(card.isActive && card.type == "match" && card.timestamp == 1_795_284_002)
                #expect(card.contentState == #"{"home":2,"text":"a \"b\" é"}"#)
                #expect(report.shown == 2 && report.history.allSatisfy { $0.ttl == 900 && $0.isHigh })
            }
            #expect(simulator.fcmSnapshot().tokenRequests == 1, "all lanes share one access token")
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a connection that FCM closed while it was idle costs no message`(_ kind: TransportKind) async throws {
        try await PlatformUnderTest.withFCM(kind, PlatformUnderTest.Setup()) { simulator, transport, project in
            var page = TokenPage()
            for number in 0..<20 {
                let address = try AndroidAddress(.token, "token-\(number)")
                page.append(channel: ChannelID.random().stored, token: address.stored, registeredAt: 0)
            }
            #expect(await transport.send(page, try push(1, .start, project: project)).accepted == 20)
            simulator.closeIdleConnections()
            try await eventually("the connection is closed") { simulator.fcmSnapshot().openConnections == 0 }
            // libcurl's lane learns of the end from its first request, whose fate is unknown then. The worker repeats
            // it.
            let update = try push(2, .update, project: project)
            let outcome = await transport.send(page, update)
            #expect(outcome.exceptions.count <= (kind == .libcurl ? 1 : 0), "\(outcome)")
            let left = page.part(outcome.exceptions.map(\.index))
            #expect(await transport.send(left, update).accepted == left.count)
            let record = simulator.fcmSnapshot()
            #expect(record.accepted == 40 && record.duplicates == 0)
        }
    }

    @Test(
        arguments: [
            ("invalid_signature", .rejected(Rejection(status: 401, reason: "invalid_grant", verdict: .haltApp))),
            ("unavailable", .unanswered(NoAnswer(.connectionFailed, mayHaveBeenDelivered: false))),
            ("not_json", .unanswered(NoAnswer(.connectionFailed, mayHaveBeenDelivered: false))),
        ] as [(String, PushOutcome)])
    func `without an access token nothing is sent, and the page comes back with the reason`(
        _ error: String, _ expected: PushOutcome
    ) async throws {
        try await PlatformUnderTest.withFCM(.nghttp2, PlatformUnderTest.Setup()) { simulator, transport, project in
            var faults = Faults()
            faults.tokenError = error
            try simulator.setFCMFaults(faults)
            var page = TokenPage()
            for number in 0..<20 {
                let address = try AndroidAddress(.token, "token-\(number)")
                page.append(channel: ChannelID.random().stored, token: address.stored, registeredAt: 0)
            }
            let outcome = await transport.send(page, try push(1, .start, project: project))
            #expect(outcome.exceptions.map(\.outcome) == Array(repeating: expected, count: 20))
            #expect(simulator.fcmSnapshot().requests == 0)
        }
    }
}
