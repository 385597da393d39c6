import Curl
import Foundation
import NIOCore
import Testing

@testable import APNsSimulator

/// Tests connections that fail before their first request, and a server that shuts down.
@Suite(.timeLimit(.minutes(5)))
struct ConnectionFaultTests {
    @Test func `a connection that closes as soon as it stands`() async throws {
        try await SimulatorFixture.run({ $0.faults.closeAfter = 0 }) { fixture async throws in
            // The connection may end before the client has sent its first frame.
            if let connection = try? await RawConnection.open(fixture.simulator) {
                #expect(await connection.remaining().isEmpty)
            }
            #expect(fixture.simulator.snapshot().requests == 0)
            try fixture.simulator.setFaults(Faults())
            #expect(try await fixture.push().status == 200)
        }
    }

    @Test func `GOAWAY before anything was processed`() async throws {
        try await SimulatorFixture.run({ $0.faults.goawayAfter = 0 }) { fixture async throws in
            let connection = try await RawConnection.open(fixture.simulator)
            let goaway = try await connection.goaway()
            #expect(goaway.lastStream == 0 && goaway.code == 0)
            // The simulator may have closed the connection by then.
            try? await connection.push(0, headers: fixture.headers())
            #expect(await connection.remaining().allSatisfy { $0.stream == 0 })
            let record = fixture.simulator.snapshot()
            #expect(record.goaways == 1 && record.requests == 0 && record.unprocessed <= 1)
        }
    }

    @Test(arguments: [Silence.beforeTLS, .beforeHTTP2]) func `silence`(_ silence: Silence) async throws {
        try await SimulatorFixture.run({ $0.faults.silence = silence }) { fixture async throws in
            await #expect(throws: HTTPFailure.self) { try await fixture.push(timeout: .milliseconds(300)) }
            #expect(fixture.simulator.snapshot().requests == 0)
            try fixture.simulator.setFaults(Faults())
            #expect(try await fixture.push().status == 200)
        }
    }

    @Test func `every nth connection is slow`() async throws {
        try await SimulatorFixture.run({
            $0.faults.slowEvery = 2
            $0.faults.slowLatency = 300
        }) { fixture async throws in
            for isSlow in [true, false, true] {
                let start = ContinuousClock.now
                #expect(try await fixture.push().status == 200)
                if isSlow { #expect(ContinuousClock.now - start >= .milliseconds(300)) }
            }
        }
    }

    @Test func `tokens that never get an answer`() async throws {
        try await SimulatorFixture.run({ $0.faults.stallTokens = ["0000000000000001"] }) { fixture async throws in
            let connection = try await RawConnection.open(fixture.simulator)
            for number in [0, 1, 2] {
                try await connection.push(number, headers: fixture.headers())
                if number != 1 { #expect(try await connection.answer(stream: number).status == 200) }
            }
            #expect(fixture.simulator.snapshot().stalled == 1)
            await connection.close()
        }
    }

    @Test func `a certificate that has expired`() async throws {
        try await SimulatorFixture.run({ $0.certificateLife = -3_600 }) { fixture async throws in
            do {
                _ = try await fixture.push()
                Issue.record("an expired certificate was taken")
            } catch let error as HTTPFailure {
                #expect(error.kind == .transfer(.tls))
            }
        }
    }

    @Test func `different provider tokens are counted`() async throws {
        try await SimulatorFixture.run { fixture async throws in
            let now = Int(Date().timeIntervalSince1970)
            for age in [0, 1, 0, 1] {
                let token = age == 0 ? fixture.providerToken : try fixture.jwt(iat: "\(now - 1)")
                #expect(try await fixture.push(headers: fixture.headers(jwt: token)).status == 200)
            }
            // Each signature makes another token, even for the same second.
            #expect(fixture.simulator.snapshot().providerTokens == 3)
        }
    }

    // MARK: The server goes

    @Test func `leaving tells every connection and answers what has arrived`() async throws {
        try await SimulatorFixture.run { fixture async throws in
            let idle = try await RawConnection.open(fixture.simulator)
            try await idle.push(0, headers: fixture.headers())
            #expect(try await idle.answer(stream: 0).status == 200)
            var faults = Faults()
            faults.latency = 300
            try fixture.simulator.setFaults(faults)
            let busy = try await RawConnection.open(fixture.simulator)
            try await busy.push(0, headers: fixture.headers())
            try await fixture.wait { $0.requests == 2 }
            async let leaving: Void = fixture.simulator.leave(within: .seconds(120))
            let goaway = try await idle.goaway()
            #expect(goaway.lastStream == 1 && goaway.code == 0 && goaway.text == #"{"reason":"Shutdown"}"#)
            // On a busy machine the response may come first.
            let last = await busy.remaining()
            #expect(last.contains { $0.type == FrameType.goaway.rawValue && $0.word(at: 0) == 1 })
            #expect(last.contains { $0.status == 200 })
            await leaving
            #expect(fixture.simulator.snapshot().goaways == 2)
            await #expect(throws: (any Error).self) { try await fixture.push() }
        }
    }

    @Test func `leaving does not wait for ever`() async throws {
        try await SimulatorFixture.run({ $0.faults.stallAfter = 0 }) { fixture async throws in
            let connection = try await RawConnection.open(fixture.simulator)
            try await connection.push(0, headers: fixture.headers())
            try await fixture.wait { $0.requests == 1 }
            await fixture.simulator.leave(within: .milliseconds(100))
            #expect(await connection.remaining().allSatisfy { $0.type != FrameType.headers.rawValue })
        }
    }
}
