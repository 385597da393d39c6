import APNsClient
import APNsWire
import Delivery
import Lanes
import Logging
import Synchronization
import TestSupport
import Testing

extension TransportTests {
    /// Tests servers that follow the rules of HTTP/2 but behave unlike APNs.
    @Suite struct OddServerTests {
        private func send(
            _ kind: TransportKind, _ script: FrameServer.Script, _ numbers: Range<Int>,
            timeout: Duration = .seconds(60), log: LogLines = LogLines()
        ) async throws -> (outcome: PageOutcome, server: FrameServer) {
            let server = try await FrameServer.start(script)
            let transport = try LaneTransport(kind, configuration: server.client(timeout: timeout), logger: log.logger)
            let outcome = await transport.send(Simulation.page(numbers), Simulation.push())
            await transport.close()
            await server.stop()
            return (outcome, server)
        }

        /// RFC 9525 wants the host's name among the certificate's alternative names. libcurl 7.88 has
        /// no way to demand this.
        @Test(arguments: ["localhost", "127.0.0.1"])
        func `a certificate with a common name only is not trusted over nghttp2`(_ host: String) async throws {
            let server = try await FrameServer.start(names: [], commonName: host)
            var logger = Logger(label: "test")
            logger.logLevel = .error
            let transport = try LaneTransport(.nghttp2, configuration: server.client(host: host), logger: logger)
            let outcome = await transport.send(Simulation.page(0..<3), Simulation.push())
            await transport.close()
            await server.stop()
            #expect(outcome.kinds == [.unanswered(NoAnswer(.tls, mayHaveBeenDelivered: false)): 3])
            #expect(server.requests == 0)
        }

        enum Length: String, CaseIterable, Sendable {
            case fields, body
        }

        /// A middlebox answers with an error page, or with a header field for each of its features.
        @Test(arguments: TransportKind.allCases, Length.allCases)
        func `a long answer is an answer`(_ kind: TransportKind, _ length: Length) async throws {
            let reason = #"{"reason":"BadDeviceToken""#
            var script = FrameServer.Script()
            switch length {
            case .fields:
                let fields = (0..<200).map { ("x-feature-\($0)", "of a middlebox") }
                script.answer = { FrameServer.answer($0, status: 400, fields: fields, body: reason + "}") }
            case .body:
                let padding = String(repeating: " ", count: 3_000)
                script.answer = { FrameServer.answer($0, status: 400, body: reason + padding + "}") }
            }
            // A lost response shows as a missed deadline.
            let (outcome, server) = try await send(kind, script, 0..<20, timeout: .seconds(10))
            let rejection = PushOutcome.rejected(Rejection(status: 400, reason: .known(.badDeviceToken)))
            #expect(outcome.kinds == [rejection: 20])
            #expect(server.requests == 20 && server.connections == 1)
        }

        /// They come at once, so the connection's window must have room for all of them.
        @Test(arguments: Length.allCases)
        func `a thousand long answers cost no connection over nghttp2`(_ length: Length) async throws {
            let reason = #"{"reason":"BadDeviceToken""#
            var script = FrameServer.Script()
            script.settings = { [(3, 1_000)] }
            switch length {
            case .fields:
                let value = String(repeating: "x", count: 100)
                let fields = (0..<600).map { ("x-feature-\($0)", value) }
                script.answer = { FrameServer.answer($0, status: 400, fields: fields, body: reason + "}") }
            case .body:
                script.answer = { FrameServer.answer($0, status: 400, ends: false) }
                script.longBody = Array((reason + String(repeating: " ", count: 70_000) + "}").utf8)
            }
            let (outcome, server) = try await send(.nghttp2, script, 0..<1_000)
            let rejection = PushOutcome.rejected(Rejection(status: 400, reason: .known(.badDeviceToken)))
            #expect(outcome.kinds == [rejection: 1_000])
            #expect(server.requests == 1_000 && server.connections == 1)
        }

        @Test(arguments: TransportKind.allCases)
        func `settings that come with the first request cost nothing`(_ kind: TransportKind) async throws {
            var script = FrameServer.Script()
            script.settingsWithFirstRequest = true
            let (outcome, server) = try await send(kind, script, 0..<300)
            #expect(outcome == PageOutcome(accepted: 300))
            #expect(server.requests == 300 && server.connections == 1)
        }

        /// Our SETTINGS forbid it, and the server has acknowledged them.
        @Test func `a server that promises pushes is left`() async throws {
            var script = FrameServer.Script()
            // GET https://a/ as stream 2.
            let promise = FrameServer.bytes(2) + [0x82, 0x87, 0x84, 0x41, 1, 0x61]
            script.answer = {
                FrameServer.frame(5, flags: 4, stream: $0, promise) + FrameServer.answer($0, status: 200)
            }
            let (outcome, server) = try await send(.nghttp2, script, 0..<1)
            #expect(outcome.kinds == [.unanswered(NoAnswer(.connectionLost, mayHaveBeenDelivered: true)): 1])
            #expect(server.requests == 1 && server.connections == 1)
        }

        /// SETTINGS_MAX_CONCURRENT_STREAMS 0, and a stream that is begun before they are read is refused.
        @Test(arguments: TransportKind.allCases)
        func `a server that allows no stream is logged and used again once it does`(
            _ kind: TransportKind
        ) async throws {
            let isOpen = Atomic(false)
            var script = FrameServer.Script()
            script.settings = { [(3, isOpen.load(ordering: .relaxed) ? 100 : 0)] }
            script.answer = {
                isOpen.load(ordering: .relaxed)
                    ? FrameServer.answer($0, status: 200) : FrameServer.frame(3, stream: $0, FrameServer.bytes(7))
            }
            let log = LogLines()
            let server = try await FrameServer.start(script)
            let transport = try LaneTransport(
                kind, configuration: server.client(), logger: log.logger)
            let refused = await transport.send(Simulation.page(0..<20), Simulation.push())
            #expect(refused.kinds == [.unanswered(NoAnswer(.connectionFailed, mayHaveBeenDelivered: false)): 20])
            #expect(log.all.contains { $0.contains("APNs accepts no requests") }, "\(log.all)")
            isOpen.store(true, ordering: .relaxed)
            // A connection of before may be the next one's.
            var outcome = refused
            for _ in 0..<20 where outcome.accepted < 20 {
                outcome = await transport.send(Simulation.page(0..<20), Simulation.push())
            }
            #expect(outcome == PageOutcome(accepted: 20))
            await transport.close()
            await server.stop()
        }

        /// The SETTINGS that close the window come with the first answer. Without it requests might leave before them.
        @Test(arguments: TransportKind.allCases)
        func `a window that stays closed ends with the deadline`(_ kind: TransportKind) async throws {
            var script = FrameServer.Script()
            script.answer = { FrameServer.settings([(4, 0)]) + FrameServer.answer($0, status: 200) }
            let log = LogLines()
            let server = try await FrameServer.start(script)
            let transport = try LaneTransport(
                kind, configuration: server.client(timeout: .seconds(10)), logger: log.logger)
            #expect(await transport.send(Simulation.page(0..<1), Simulation.push()) == PageOutcome(accepted: 1))
            let outcome = await transport.send(Simulation.page(1..<11), Simulation.push())
            await transport.close()
            await server.stop()
            // A connection that replaces the stalled one may carry a request before the window closes again.
            let unsent = PushOutcome.unanswered(NoAnswer(.windowClosed, mayHaveBeenDelivered: false))
            #expect(outcome.accepted <= 1 && outcome.kinds[unsent] == 10 - outcome.accepted, "\(outcome.kinds)")
            #expect(server.requests == 1 + outcome.accepted)
            #expect(log.all.contains { $0.contains("its flow-control window stays closed") }, "\(log.all)")
        }
    }
}
