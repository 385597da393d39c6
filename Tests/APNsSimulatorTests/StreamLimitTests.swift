import NIOCore
import Testing

@testable import APNsSimulator

/// Tests SETTINGS_MAX_CONCURRENT_STREAMS as APNs changes it.
@Suite(.timeLimit(.minutes(5)))
struct StreamLimitTests {
    @Test func `one stream until a provider token has passed`() async throws {
        try await SimulatorFixture.run({ $0.streams = 700 }) { fixture async throws in
            let connection = try await RawConnection.open(fixture.simulator)
            #expect(try await connection.first(\.streams) == 1)

            var unauthenticated = fixture.headers()
            unauthenticated.removeFirst()
            try await connection.push(0, headers: unauthenticated)
            #expect(try await connection.answer(stream: 0).status == 403)

            // A rejection with a valid token counts too. SETTINGS come before the response.
            var wrong = fixture.headers()
            wrong[3].1 = "7"
            try await connection.push(1, headers: wrong)
            let raised: UInt32 = try await connection.first { frame in
                #expect(frame.type != FrameType.headers.rawValue)
                return frame.streams
            }
            #expect(raised == 700)
            #expect(try await connection.answer(stream: 1).status == 400)

            try await connection.push(2, headers: fixture.headers())
            #expect(try await connection.answer(stream: 2).status == 200)
            await connection.close()
        }
    }

    @Test func `the limit falls on rejection and recovers`() async throws {
        try await SimulatorFixture.run({
            $0.streams = 500
            $0.faults.settingsDropOnRejection = true
        }) { fixture async throws in
            let connection = try await RawConnection.open(fixture.simulator)
            var wrong = fixture.headers()
            wrong[3].1 = "7"
            var limits: [UInt32] = []
            for (number, headers) in [fixture.headers(), wrong, wrong, fixture.headers()].enumerated() {
                limits += try await connection.limits(
                    until: number, RawConnection.request(number, headers: headers))
            }
            #expect(limits == [1, 500, 1, 500])
            await connection.close()
        }
    }

    @Test func `the limit falls on a broadcast's rejection too`() async throws {
        try await SimulatorFixture.run({
            $0.streams = 500
            $0.faults.settingsDropOnRejection = true
        }) { fixture async throws in
            let channel = try await fixture.createChannel()
            let connection = try await RawConnection.open(fixture.simulator)
            var limits: [UInt32] = []
            for (number, expiration) in ["0", "soon", "soon", "0"].enumerated() {
                let headers = SimulatorFixture.broadcastHeaders(channel, expiration: expiration)
                limits += try await connection.limits(
                    until: number,
                    RawConnection.request(
                        number, path: SimulatorFixture.broadcastPath,
                        headers: [("authorization", "bearer \(fixture.providerToken)")] + headers))
            }
            #expect(limits == [1, 500, 1, 500])
            await connection.close()
        }
    }

    @Test func `settings change at a request`() async throws {
        try await SimulatorFixture.run({
            $0.faults.settings = [
                StreamLimitChange(afterRequests: 2, streams: 50), StreamLimitChange(afterRequests: 3, streams: 900),
            ]
        }) { fixture async throws in
            let connection = try await RawConnection.open(fixture.simulator)
            var limits: [UInt32] = []
            for number in 0..<4 {
                limits += try await connection.limits(
                    until: number, RawConnection.request(number, headers: fixture.headers()))
            }
            #expect(limits == [1, 1_000, 50, 900])
            await connection.close()
        }
    }

    /// Sends three requests at once although the client has acknowledged a limit of one.
    private func threeAtOnce(_ fixture: SimulatorFixture) async throws -> RawConnection {
        let connection = try await RawConnection.open(fixture.simulator)
        #expect(try await connection.first(\.streams) == 1)
        var bytes = ByteBuffer()
        bytes.writeFrameHeader(.settings, length: 0, flags: FrameFlags.acknowledgement)
        for number in 0..<3 {
            var request = RawConnection.request(number, headers: fixture.headers())
            bytes.writeBuffer(&request)
        }
        try await connection.send(bytes)
        return connection
    }

    @Test func `exceeding the limit earns GOAWAY`() async throws {
        try await SimulatorFixture.run({ $0.faults.latency = 200 }) { fixture async throws in
            let connection = try await threeAtOnce(fixture)
            let goaway = try await connection.goaway()
            #expect(goaway.lastStream == 1)
            #expect(goaway.text == #"{"reason":"TooManyStreams"}"#)
            // Requests within the limit are still answered.
            #expect(try await connection.answer(stream: 0).status == 200)
            let record = fixture.simulator.snapshot()
            #expect(record.accepted == 1)
            #expect(record.excessStreams == 1)
            #expect(record.unprocessed == 2)
            #expect(record.goaways == 1)
            await connection.close()
        }
    }

    @Test func `exceeding the limit is refused`() async throws {
        try await SimulatorFixture.run({
            $0.faults.latency = 200
            $0.excessStreams = .refuse
        }) { fixture async throws in
            let connection = try await threeAtOnce(fixture)
            #expect(try await connection.answer(stream: 1).reset == HTTP2ErrorCode.refusedStream.rawValue)
            #expect(try await connection.answer(stream: 2).reset == HTTP2ErrorCode.refusedStream.rawValue)
            #expect(try await connection.answer(stream: 0).status == 200)
            #expect(fixture.simulator.snapshot().excessStreams == 2)
            await connection.close()
        }
    }

    /// Before the client has acknowledged SETTINGS, it cannot know of any limit (RFC 9113, 6.5.3).
    @Test func `a limit not yet acknowledged binds nobody`() async throws {
        try await SimulatorFixture.run({ $0.faults.latency = 50 }) { fixture async throws in
            let connection = try await RawConnection.open(fixture.simulator)
            var bytes = ByteBuffer()
            for number in 0..<5 {
                var request = RawConnection.request(number, headers: fixture.headers())
                bytes.writeBuffer(&request)
            }
            try await connection.send(bytes)
            for number in 0..<5 { #expect(try await connection.answer(stream: number).status == 200) }
            let record = fixture.simulator.snapshot()
            #expect(record.goaways == 0)
            #expect(record.maximumInFlight == 5)
            await connection.close()
        }
    }
}

extension RawConnection {
    /// Sends a request, and returns the stream limits that the server announces up to the end of its response.
    fileprivate func limits(until number: Int, _ request: ByteBuffer) async throws -> [UInt32] {
        try await send(request)
        var limits: [UInt32] = []
        return try await first { frame in
            if let streams = frame.streams { limits.append(streams) }
            return frame.stream == UInt32(number * 2 + 1) && frame.endsStream ? limits : nil
        }
    }
}
