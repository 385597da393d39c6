import APNsClient
import APNsWire
import Delivery
import Glibc
import Lanes
import LiveActivity
import Synchronization
import Testing

@testable import APNsSimulator

extension TransportTests {
    /// Tests the network in between: half-open connections and cuts.
    @Suite struct NetworkTests {
        private static let unknown: Set<PushOutcome> = [
            .unanswered(NoAnswer(.timeout, mayHaveBeenDelivered: true)),
            .unanswered(NoAnswer(.connectionLost, mayHaveBeenDelivered: true)),
        ]

        /// A transport that reaches the simulator through a proxy.
        private func withProxy(
            _ kind: TransportKind, server: (inout SimulatorConfiguration) -> Void = { _ in },
            client change: (inout APNsConfiguration) -> Void = { _ in },
            _ body: (Simulation, LoopbackProxy, LaneTransport) async throws -> Void
        ) async throws {
            try await Simulation.run(kind, server: server) { it in
                let proxy = try LoopbackProxy(to: UInt16(it.simulator.port))
                defer { proxy.stop() }
                var configuration = it.client
                configuration.origin = proxy.origin
                change(&configuration)
                let transport = try LaneTransport(kind, configuration: configuration, logger: it.logger)
                try await body(it, proxy, transport)
                await transport.close()
                #expect(transport.load == 0)
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `a connection that goes silent is replaced after one deadline`(_ kind: TransportKind) async throws {
            try await withProxy(kind) { _ in
            } client: { client in
                // Use a long time: a lane would leave a healthy connection if a busy machine were
                // silent for half of it.
                client.requestTimeout = .seconds(8)
            } _: { it, proxy, transport in
                #expect(await transport.send(Simulation.page(0..<200), Simulation.push()) == PageOutcome(accepted: 200))
                #expect(proxy.connections == 1)
                proxy.blackhole()
                // The socket is open and accepts bytes, but no answer will ever come.
                let lost = await transport.send(Simulation.page(200..<300), Simulation.push())
                #expect(lost.accepted == 0 && Self.unknown.isSuperset(of: lost.kinds.keys), "\(lost.kinds)")
                let next = await transport.send(Simulation.page(300..<400), Simulation.push())
                #expect(next == PageOutcome(accepted: 100))
                #expect(it.simulator.snapshot().duplicates == 0)
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `a cut with many hundreds in flight accounts for each once`(_ kind: TransportKind) async throws {
            try await withProxy(kind) { server in
                server.faults.latency = 60_000
                server.faults.settings = [StreamLimitChange(afterRequests: 1, streams: 1_000)]
            } client: { client in
                // One lane, because a second one that connects later would have a small window.
                client.lanes = 1
                client.requestTimeout = .seconds(120)
            } _: { it, proxy, transport in
                // The window grows with responses, but these take a minute here. So run rounds without latency first.
                var faults = Faults()
                try it.simulator.setFaults(faults)
                await withTaskGroup { group in
                    for number in 0..<6 {
                        group.addTask {
                            let page = Simulation.page(number * 1_000..<(number + 1) * 1_000)
                            return await transport.send(page, Simulation.push())
                        }
                    }
                    for await outcome in group { #expect(outcome == PageOutcome(accepted: 1_000)) }
                }
                faults.latency = 60_000
                try it.simulator.setFaults(faults)
                async let outcome = withTaskGroup { group in
                    for number in 10..<12 {
                        group.addTask {
                            let page = Simulation.page(number * 1_000..<(number + 1) * 1_000)
                            return await transport.send(page, Simulation.push())
                        }
                    }
                    return await group.reduce(into: PageOutcome()) { all, one in
                        all.accepted += one.accepted
                        all.exceptions += one.exceptions
                    }
                }
                try await it.wait { $0.inFlight >= 750 }
                try it.simulator.setFaults(Faults())
                proxy.cut()
                let result = await outcome
                #expect(result.count == 2_000)
                #expect(Self.unknown.isSuperset(of: result.kinds.keys), "\(result.kinds)")
                #expect(result.exceptions.count >= 750)
                #expect(it.simulator.snapshot().duplicates == 0)
                let next = await transport.send(Simulation.page(20_000..<20_100), Simulation.push())
                #expect(next == PageOutcome(accepted: 100))
            }
        }
    }

    /// Tests names whose address changes. One at a time: the resolver is that of the whole process.
    @Suite(.serialized) struct NameTests {
        /// As an IPv6 address without a route does, it swallows packets. libcurl has a rule of its own.
        @Test(arguments: [TransportKind.nghttp2])
        func `an address that does not answer costs no share of the time`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { server in
                server.host = Resolver.name
            } client: { client in
                client.requestTimeout = .seconds(120)
            } _: { it in
                let silent = try SilentListener("127.0.0.4", port: UInt16(it.simulator.port))
                Resolver.first.withLock { $0 = "127.0.0.4" }
                defer { Resolver.first.withLock { $0 = nil } }
                let began = ContinuousClock.now
                #expect(await it.send(0..<50) == PageOutcome(accepted: 50))
                #expect(began.duration(to: .now) < .seconds(20), "one of two addresses had 60 s")
                withExtendedLifetime(silent) {}
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `a replaced connection goes where the name leads now`(_ kind: TransportKind) async throws {
            Resolver.address.withLock { $0 = "127.0.0.2" }
            defer { Resolver.address.withLock { $0 = "127.0.0.1" } }
            try await Simulation.run(kind) { server in
                server.host = Resolver.name
            } _: { it in
                #expect(await it.send(0..<50) == PageOutcome(accepted: 50))
                // Start another server at another address of the same name.
                Resolver.address.withLock { $0 = "127.0.0.3" }
                var configuration = SimulatorConfiguration(certificateDirectory: it.certificateDirectory)
                configuration.host = Resolver.name
                configuration.port = it.simulator.port
                let successor = try await APNsSimulator.start(configuration, logger: it.logger)
                #expect(await it.send(50..<100) == PageOutcome(accepted: 50))
                #expect(successor.snapshot().connections == 0, "a connection that works is kept")
                let lookups = Resolver.lookups.load(ordering: .relaxed)
                await it.simulator.leave()
                #expect(await it.send(100..<200) == PageOutcome(accepted: 100))
                #expect(successor.snapshot().accepted == 100)
                #expect(it.simulator.snapshot().accepted == 100)
                #expect(Resolver.lookups.load(ordering: .relaxed) > lookups, "the name was looked up anew")
                await it.transport.close()
                await successor.stop()
            }
        }
    }
}
