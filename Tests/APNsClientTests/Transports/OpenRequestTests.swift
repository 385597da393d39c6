import APNsClient
import APNsSimulator
import APNsWire
import Delivery
import Lanes
import LiveActivity
import Synchronization
import TestSupport
import Testing

extension TransportTests {
    /// Tests pages that are taken back before each request has its answer.
    @Suite struct OpenRequestTests {
        private static let timeout = PushOutcome.unanswered(NoAnswer(.timeout, mayHaveBeenDelivered: true))
        private static let unsent = PushOutcome.unanswered(NoAnswer(.cancelled, mayHaveBeenDelivered: false))

        /// Answers that come after the page, in the order of their entries.
        private func late(_ outcome: PageOutcome) async -> [PageOutcome.Exception] {
            var found: [PageOutcome.Exception] = []
            for source in outcome.late {
                while true {
                    let some = await source.next()
                    if some.isEmpty { break }
                    found += some
                }
            }
            return found.sorted { $0.index < $1.index }
        }

        @Test(arguments: TransportKind.allCases)
        func `a page does not wait for tokens that are never answered`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { server in
                server.faults.stallTokens = Simulation.hex([3, 500, 999])
            } client: { client in
                client.requestTimeout = .seconds(20)
            } _: { it in
                #expect(await it.send(2_000..<2_100) == PageOutcome(accepted: 100), "connected, and not slow")
                let outcome = await it.sendOpen(0..<1_000)
                #expect(outcome.accepted == 997 && outcome.exceptions.isEmpty && outcome.open == [3, 500, 999])
                // Other pages pass meanwhile, and the channels' requests end at their time.
                #expect(await it.sendOpen(1_000..<1_500) == PageOutcome(accepted: 500))
                let answers = await late(outcome)
                #expect(answers == [3, 500, 999].map { .init(index: $0, outcome: Self.timeout) })
                #expect(it.simulator.snapshot().connections == 1)
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `without a handover the page waits`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { server in
                server.faults.stallTokens = Simulation.hex([7])
            } client: { client in
                client.requestTimeout = .seconds(5)
            } _: { it in
                let outcome = await it.send(0..<100)
                #expect(outcome.open.isEmpty && outcome.late.isEmpty)
                #expect(outcome == PageOutcome(accepted: 99, exceptions: [.init(index: 7, outcome: Self.timeout)]))
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `late answers come once, acceptances and rejections alike`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { server in
                server.faults.slowTokens = Simulation.hex([1, 2])
                server.faults.slowTokenLatency = 4_000
                server.faults.deadTokens = Simulation.hex([2]).map { DeadToken(prefix: $0) }
            } client: { client in
                client.requestTimeout = .seconds(30)
            } _: { it in
                let outcome = await it.sendOpen(0..<10)
                #expect(outcome.accepted == 8 && outcome.open == [1, 2])
                let answers = await late(outcome)
                #expect(answers.map(\.index) == [1, 2])
                #expect(answers.first?.outcome == .accepted)
                guard case .rejected(let rejection)? = answers.last?.outcome else {
                    Issue.record("\(answers)")
                    return
                }
                #expect(rejection.status == 410)
                #expect(it.simulator.snapshot().duplicates == 0)
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `a server that is slow for all moves few requests`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { server in
                server.faults.latency = 1_500
            } client: { client in
                client.requestTimeout = .seconds(60)
                client.lanes = 2
            } _: { it in
                var open = 0
                for page in 0..<3 {
                    let outcome = await it.sendOpen(page * 1_000..<(page + 1) * 1_000)
                    open += outcome.open.count
                    #expect(await late(outcome).allSatisfy { $0.outcome == .accepted })
                }
                #expect(open < 1_000, "\(open) of 3,000")
                #expect(it.simulator.snapshot().duplicates == 0)
            }
        }

        /// All answers to this page come after the longest patience.
        @Test(arguments: TransportKind.allCases)
        func `a server that is too slow for every page moves a part and then one a second`(
            _ kind: TransportKind
        ) async throws {
            try await Simulation.run(kind) { _ in
            } client: { client in
                client.requestTimeout = .seconds(16)
            } _: { it in
                #expect(await it.send(2_000..<3_000).accepted == 1_000, "the window is open")
                var faults = it.simulator.faults
                faults.latency = 7_000
                try it.simulator.setFaults(faults)
                let start = ContinuousClock.now
                let outcome = await it.sendOpen(0..<1_000)
                let seconds = start.duration(to: .now) / .seconds(1)
                #expect(Double(outcome.open.count) <= 64 + 32 * seconds, "after \(seconds) s")
                #expect(await late(outcome).allSatisfy { $0.outcome == .accepted } && outcome.exceptions.isEmpty)
                #expect(it.simulator.snapshot().duplicates == 0)
            }
        }

        // MARK: Many silent phones

        @Test(arguments: TransportKind.allCases)
        func `a page does not wait for its silent half, because the others are answered`(
            _ kind: TransportKind
        ) async throws {
            let half = stride(from: 1, to: 800, by: 2)
            try await Simulation.run(kind) { server in
                server.faults.stallTokens = Simulation.hex(half)
            } client: { client in
                client.requestTimeout = .seconds(60)
            } _: { it in
                #expect(await it.send(2_000..<2_100).accepted == 100, "connected")
                let outcome = await it.sendOpen(0..<800)
                #expect(outcome.exceptions.isEmpty && Set(half).isSubset(of: outcome.open), "\(outcome.open.count)")
                // Nor does the next page, and the requests end at their time.
                #expect(await it.sendOpen(1_000..<1_100).exceptions.isEmpty)
                #expect(await late(outcome).count { $0.outcome == Self.timeout } == 400)
            }
        }

        /// The phones of a retry queue are often silent ones alone.
        @Test(arguments: TransportKind.allCases)
        func `a page of silent phones alone goes before its requests end`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { server in
                server.faults.stallTokens = Simulation.hex(0..<200)
            } client: { client in
                client.requestTimeout = .seconds(100)
            } _: { it in
                #expect(await it.send(2_000..<2_100).accepted == 100, "connected")
                var retries = TokenPage()
                for number in 0..<200 {
                    retries.append(channel: [1], token: Simulation.token(number), registeredAt: 0, attempt: 3)
                }
                let outcome = await it.transport.send(
                    retries, Simulation.push(), while: AlwaysPermitted(), Handover())
                #expect(outcome.open == Array(0..<200) && outcome.exceptions.isEmpty)
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `a part with unsent entries keeps its page`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { server in
                server.faults.stallTokens = Simulation.hex(20..<44)
                server.streams = 20
            } client: { client in
                client.requestTimeout = .seconds(6)
            } _: { it in
                let outcome = await it.sendOpen(0..<100)
                // Silent tokens take all 20 streams. The rest is sent on other connections, or when their time is over.
                #expect(outcome.accepted == 76 && outcome.count + outcome.open.count == 100, "\(outcome)")
                let unanswered = outcome.exceptions + (await late(outcome))
                let isTimeout = unanswered.allSatisfy { one in
                    if case .unanswered(let none) = one.outcome { none.cause == .timeout } else { false }
                }
                #expect(unanswered.count == 24 && isTimeout, "\(unanswered)")
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `an open request that comes back unsent is not sent again`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { server in
                server.faults.stallTokens = Simulation.hex([0])
            } client: { client in
                client.requestTimeout = .seconds(30)
            } _: { it in
                #expect(await it.send(100..<110) == PageOutcome(accepted: 10))
                let outcome = await it.sendOpen(0..<10)
                #expect(outcome.open == [0])
                // The connection goes away with the next request: what it had in flight is lost, and nobody repeats it.
                var faults = it.simulator.faults
                faults.closeAfter = 1
                try it.simulator.setFaults(faults)
                _ = await it.send(10..<11)
                let answers = await late(outcome)
                let isKnown = answers.allSatisfy { answer in
                    if case .unanswered(let none) = answer.outcome { none.cause != .timeout } else { false }
                }
                #expect(answers.count == 1 && isKnown, "\(answers)")
                try it.simulator.setFaults(Faults())
                #expect(await it.send(20..<30) == PageOutcome(accepted: 10))
                #expect(it.simulator.token(Hex.encode(Simulation.token(0)))?.requests == 1)
            }
        }

        /// Only nghttp2 tells which requests a GOAWAY calls unprocessed.
        @Test func `an open request that the server did not process is not sent again`() async throws {
            var script = FrameServer.Script()
            // Each request has the next odd stream. The fourth answer comes with a GOAWAY for all but the first.
            script.answer = { stream in
                if stream == 3 { return [] }
                let answer = FrameServer.answer(stream, status: 200)
                if stream < 7 { return answer }
                return answer + FrameServer.frame(7, stream: 0, FrameServer.bytes(1) + FrameServer.bytes(0))
            }
            let server = try await FrameServer.start(script)
            var client = server.client()
            client.lanes = 1
            let transport = try LaneTransport(.nghttp2, configuration: client, logger: LogLines().logger)
            func send(_ numbers: Range<Int>) async -> PageOutcome {
                await transport.send(
                    Simulation.page(numbers), Simulation.push(), while: AlwaysPermitted(), Handover())
            }
            #expect(await send(0..<1) == PageOutcome(accepted: 1))
            let outcome = await send(1..<3)
            #expect(outcome.accepted == 1 && outcome.open == [0])
            #expect(await send(3..<4) == PageOutcome(accepted: 1))
            #expect(await late(outcome) == [.init(index: 0, outcome: Self.unsent)])
            #expect(server.requests == 4)
            await transport.close()
            await server.stop()
        }

        @Test(arguments: TransportKind.allCases)
        func `a page is nearly done when a sixteenth is left`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { server in
                server.faults.stallTokens = Simulation.hex(50..<56)
            } client: { client in
                client.requestTimeout = .seconds(20)
            } _: { it in
                let calls = Atomic(0)
                let outcome = await it.transport.send(
                    Simulation.page(0..<100), Simulation.push(), while: AlwaysPermitted(),
                    Handover { calls.add(1, ordering: .relaxed) })
                #expect(outcome.accepted == 94 && calls.load(ordering: .relaxed) == 1)
                _ = await late(outcome)
                #expect(calls.load(ordering: .relaxed) == 1)
            }
        }

        // MARK: A connection with one stream

        /// The server allows one stream until the first answer, as APNs does.
        @Test(arguments: TransportKind.allCases)
        func `a silent token does not shut a new connection`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { server in
                server.faults.stallTokens = Simulation.hex([0, 1])
            } client: { client in
                client.requestTimeout = .seconds(30)
            } _: { it in
                let start = ContinuousClock.now
                let outcome = await it.sendOpen(0..<100)
                #expect(start.duration(to: .now) < .seconds(20), "the others do not wait for the silent ones")
                #expect(it.simulator.snapshot().connections <= 3)
                let answers = await late(outcome)
                // On a busy machine some of the others are late too.
                #expect(outcome.accepted + answers.count == 100 && outcome.exceptions.isEmpty, "\(outcome)")
                #expect(answers.filter { $0.outcome != .accepted }.map(\.index) == [0, 1], "\(answers)")
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `a connection that was passed comes back with its answer`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { server in
                server.faults.latency = 2_700
            } client: { client in
                client.requestTimeout = .seconds(10)
            } _: { it in
                // One request at a time would take 18 minutes.
                let outcome = await it.sendOpen(0..<400)
                let answers = await late(outcome)
                #expect(outcome.accepted + answers.count == 400 && outcome.exceptions.isEmpty)
                #expect(answers.allSatisfy { $0.outcome == .accepted })
                #expect(it.simulator.snapshot().connections <= 4)
            }
        }

        @Test func `a connection that was idle opens again with a PONG`() async throws {
            try await Simulation.run(.nghttp2) { server in
                server.faults.latency = 2_700
            } client: { client in
                client.requestTimeout = .seconds(10)
            } _: { it in
                let outcome = await it.send(0..<20)
                #expect(outcome.accepted == 20)
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `retries are not what a new connection begins with`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { server in
                server.faults.stallTokens = Simulation.hex([0])
                server.faults.slowTokens = Simulation.hex([1])
                // Well below the patience of a new lane, also on a busy machine.
                server.faults.slowTokenLatency = 100
            } client: { client in
                client.requestTimeout = .seconds(20)
            } _: { it in
                var retry = TokenPage()
                retry.append(channel: [1], token: Simulation.token(0), registeredAt: 0, attempt: 3)
                async let silent = it.transport.send(
                    retry, Simulation.push(), while: AlwaysPermitted(), Handover())
                async let healthy = it.sendOpen(1..<20)
                #expect(await healthy == PageOutcome(accepted: 19))
                let outcome = await silent
                #expect(outcome.open == [0])
                #expect(await late(outcome) == [.init(index: 0, outcome: Self.timeout)])
                #expect(await it.send(20..<40) == PageOutcome(accepted: 20), "the server is not unreachable")
            }
        }

        /// A token that had no answer before says nothing about its connection, nor does one that others overtook.
        @Test(arguments: [(attempt: 0, after: 0, connections: 2), (1, 0, 1), (0, 9, 1)])
        func `a retry without an answer leaves a connection on which PINGs are answered`(
            attempt: Int, after: Int, connections: Int
        ) async throws {
            try await Simulation.run(.nghttp2) { server in
                server.faults.stallTokens = Simulation.hex([0])
                // A lane's clock has milliseconds: this answer is to a request from before the silent one.
                server.faults.slowTokens = Simulation.hex([1])
                server.faults.slowTokenLatency = 20
            } client: { client in
                client.requestTimeout = .seconds(4)
            } _: { it in
                #expect(await it.send(1..<2) == PageOutcome(accepted: 1))
                var page = TokenPage()
                page.append(channel: [1], token: Simulation.token(0), registeredAt: 0, attempt: attempt)
                let silent = page
                async let late = it.transport.send(silent, Simulation.push(), while: AlwaysPermitted())
                try await it.wait { $0.stalled == 1 }
                #expect(await it.send(100..<100 + after).accepted == after)
                let outcome = await late
                #expect(outcome.exceptions == [.init(index: 0, outcome: Self.timeout)])
                #expect(await it.send(20..<40) == PageOutcome(accepted: 20))
                #expect(it.simulator.snapshot().connections == connections)
            }
        }
    }
}

extension Simulation {
    /// Sends a page and takes it back with open requests.
    func sendOpen(_ numbers: Range<Int>) async -> PageOutcome {
        await transport.send(Self.page(numbers), Self.push(), while: AlwaysPermitted(), Handover())
    }
}
