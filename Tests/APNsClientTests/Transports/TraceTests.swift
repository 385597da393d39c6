import APNsClient
import APNsWire
import Delivery
import Lanes
import LiveActivity
import Testing

@testable import APNsSimulator

extension TransportTests {
    /// The notes of the exchanges of a push that is traced.
    @Suite struct TraceTests {
        private func send(_ it: Simulation, _ trace: ExchangeRecorder?, _ numbers: Range<Int> = 0..<1) async
            -> PageOutcome
        {
            var push = Simulation.push()
            push.trace = trace
            return await it.transport.send(Simulation.page(numbers), push)
        }

        @Test(arguments: TransportKind.allCases)
        func `an accepted request is noted with its headers, its payload, apns-id and times`(
            _ kind: TransportKind
        ) async throws {
            try await Simulation.run(kind) { it in
                let before = wallClock()
                let trace = ExchangeRecorder()
                // An exchange that nobody traces goes before and behind it on the same connection.
                #expect(await send(it, nil, 1..<9).accepted == 8)
                #expect(await send(it, trace).accepted == 1)
                #expect(await send(it, nil, 1..<9).accepted == 8)
                let exchange = try #require(trace.exchanges.first)
                #expect(trace.exchanges.count == 1)
                guard case .answered(200, "", _) = exchange.outcome else {
                    Issue.record("\(exchange.outcome)")
                    return
                }
                let id = try #require(exchange.apnsID)
                #expect(UUIDBytes(id) != nil)
                #expect(it.simulator.token(Hex.encode(Simulation.token(0)))?.history.last?.id == id)
                #expect(exchange.origin == it.simulator.url)
                #expect(exchange.path == "/3/device/\(Hex.encode(Simulation.token(0).prefix(4)))…")
                #expect(exchange.payload == Simulation.push().payload)
                let fields = exchange.fields.map { "\($0.name): \($0.value)" }
                #expect(fields.first == "authorization: bearer eyJhbGci…")
                #expect(fields.dropFirst() == Simulation.push().fields.map { "\($0.name): \($0.value)" }[...])
                #expect(before <= exchange.sentAt && exchange.sentAt <= exchange.endedAt)
                #expect(exchange.endedAt <= wallClock())
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `a rejection is noted with its reason, and each repetition by itself`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { server in
                server.faults.deadTokens = [
                    DeadToken(prefix: Hex.encode(Simulation.token(0)), reason: "Unregistered", since: 1_719_244_800_123)
                ]
            } _: { it in
                let trace = ExchangeRecorder()
                #expect(await send(it, trace).accepted == 0)
                guard case .answered(410, "Unregistered", let fields) = try #require(trace.exchanges.first).outcome
                else {
                    Issue.record("\(trace.exchanges)")
                    return
                }
                #expect(fields.contains { $0.name == "apns-id" })
                let text = String(decoding: trace.exchanges[0].json(attempt: 2), as: UTF8.self)
                #expect(text.hasPrefix(#"{"attempt":2,"origin":"https://127.0.0.1"#))
                #expect(text.contains(#""status":410,"reason":"Unregistered","apns_id":"#))
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `a request without an answer is noted with the cause`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { server in
                server.faults.stallShare = 1
            } client: { client in
                client.requestTimeout = .milliseconds(400)
            } _: { it in
                let trace = ExchangeRecorder()
                let outcome = await send(it, trace)
                #expect(outcome.accepted == 0)
                #expect(trace.exchanges.last?.outcome == .unanswered("Timeout"), "\(trace.exchanges)")
                let text = String(decoding: try #require(trace.exchanges.last).json(), as: UTF8.self)
                #expect(text.hasSuffix(#""no_answer":"Timeout"}"#))
            }
        }
    }
}
