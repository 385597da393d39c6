import NIOCore
import Testing

@testable import APNsSimulator

/// Tests connections to FCM, and faults of answers.
@Suite(.timeLimit(.minutes(5)))
struct FCMConnectionTests {
    private func request(_ fixture: FCMFixture, _ access: String, _ number: Int) -> ByteBuffer {
        RawConnection.request(
            number, path: fixture.sendPath, payload: FCMFixture.message(FCMFixture.token(number)),
            headers: FCMFixture.headers(access))
    }

    @Test func `one stream too many`() async throws {
        try await FCMFixture.run({ $1.faults.stallTokens = ["c"] }) { fixture async throws in
            let access = try await fixture.accessToken()
            let connection = try await fixture.open()
            #expect(try await connection.first(\.streams) == 100)
            try await connection.acknowledgeSettings()
            for number in 0..<101 { try await connection.send(request(fixture, access, number)) }
            let goaway = try await connection.goaway()
            #expect(goaway.code == 1 && goaway.text == "exceeded_max_concurrent_streams" && goaway.lastStream == 199)
            let record = fixture.simulator.fcmSnapshot()
            #expect(record.excessStreams == 1 && record.goaways == 1 && record.maximumInFlight == 100)
            await connection.close()
        }
    }

    @Test func `an idle connection is closed`() async throws {
        try await FCMFixture.run({ $1.idleTimeout = 0.2 }) { fixture async throws in
            let connection = try await fixture.open()
            let frames = await connection.remaining()
            #expect(!frames.isEmpty && frames.allSatisfy { $0.type != FrameType.goaway.rawValue })
            try await fixture.wait { $0.openConnections == 0 }
        }
    }

    @Test func `GOAWAY after some requests`() async throws {
        try await FCMFixture.run({
            $1.faults.goawayAfter = 2
            $1.faults.goawayReason = "session_timed_out"
        }) { fixture async throws in
            let access = try await fixture.accessToken()
            let connection = try await fixture.open()
            for number in 0..<2 { try await connection.send(request(fixture, access, number)) }
            #expect(try await connection.answer(stream: 0).status == 200)
            let goaway = try await connection.goaway()
            #expect(goaway.text == "session_timed_out" && goaway.lastStream == 3)
            #expect(try await connection.answer(stream: 1).status == 200)
            await connection.close()
        }
    }

    @Test func `resets and stalls`() async throws {
        try await FCMFixture.run({
            $1.faults.resetShare = 1
            $1.faults.resetCode = .refusedStream
        }) { fixture async throws in
            let access = try await fixture.accessToken()
            let connection = try await fixture.open()
            try await connection.send(request(fixture, access, 0))
            #expect(try await connection.answer(stream: 0).reset == HTTP2ErrorCode.refusedStream.rawValue)
            var faults = Faults()
            faults.stallShare = 1
            faults.stallDelivers = true
            try fixture.simulator.setFCMFaults(faults)
            try await connection.send(request(fixture, access, 1))
            try await fixture.wait { $0.stalled == 1 }
            let record = fixture.simulator.fcmSnapshot()
            #expect(record.reset == 1 && record.acceptedUnanswered == 1 && record.accepted == 0)
            #expect(fixture.simulator.fcmReport(FCMFixture.token(0))?.accepted == 0)
            #expect(fixture.simulator.fcmReport(FCMFixture.token(1))?.accepted == 1)
            await connection.close()
        }
    }

    @Test func `slow addresses`() async throws {
        try await FCMFixture.run({
            $1.faults.slowTokens = [String(FCMFixture.token(1).prefix(9))]
            $1.faults.slowTokenLatency = 200
        }) { fixture async throws in
            let access = try await fixture.accessToken()
            let connection = try await fixture.open()
            // Both arrive in one read, so that a busy machine does not change the order.
            var both = request(fixture, access, 1)
            both.writeImmutableBuffer(request(fixture, access, 2))
            try await connection.send(both)
            #expect(try await connection.answer(stream: 2).status == 200)
            #expect(try await connection.answer(stream: 1).status == 200)
            let waited = fixture.simulator.fcmReport(FCMFixture.token(1))?.history.map { $0.at - $0.arrivedAt }
            #expect((waited?.first ?? 0) >= 190)
            await connection.close()
        }
    }

    @Test func `the simulator leaves with GOAWAY`() async throws {
        try await FCMFixture.run { fixture async throws in
            let connection = try await fixture.open()
            #expect(try await connection.first(\.streams) == 100)
            await fixture.simulator.leave()
            #expect(try await connection.goaway().code == 0)
        }
    }
}
