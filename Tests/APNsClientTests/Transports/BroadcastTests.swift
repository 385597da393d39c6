import APNsSimulator
import APNsWire
import Delivery
import Lanes
import LiveActivity
import Testing

@testable import APNsClient

extension TransportTests {
    /// Tests broadcast channels with the simulator: create, send and delete.
    @Suite struct BroadcastTests {
        struct Broadcasting {
            let it: Simulation
            let sender: BroadcastSender
            let channels: BroadcastChannelManager

            func broadcast(
                _ channel: BroadcastChannelID, _ storage: BroadcastStorage = .none, goals: Int = 1, bytes: Int? = nil,
                bundleID: String = Simulation.bundleID
            ) -> PreparedPush {
                var payload =
                    #"{"aps":{"timestamp":\#(1_790_000_000 + goals),"event":"update","content-state":{"goals":\#(goals)}}}"#
                if let bytes { payload += String(repeating: " ", count: bytes - payload.utf8.count) }
                return .broadcast(
                    bundleID: bundleID, channel: channel, storage: storage, priority: .high, expiration: 0,
                    payload: Array(payload.utf8))
            }

            func send(_ channel: BroadcastChannelID, goals: Int = 1) async -> PushOutcome {
                await sender.send(broadcast(channel, goals: goals))
            }

            func set(_ change: (inout Faults) -> Void) throws {
                var faults = Faults()
                change(&faults)
                try it.simulator.setFaults(faults)
            }
        }

        private func run(
            _ kind: TransportKind = .libcurl, server: (inout SimulatorConfiguration) -> Void = { _ in },
            client: (inout APNsConfiguration) -> Void = { _ in }, _ body: (Broadcasting) async throws -> Void
        ) async throws {
            try await Simulation.run(kind, server: server, client: client) { it in
                let sender = try BroadcastSender(it.kind, LaneSettings(it.client, it.logger))
                var management = it.client
                management.origin = try #require(it.simulator.manageURL)
                let channels = try BroadcastChannelManager(configuration: management, bundleID: Simulation.bundleID)
                try await body(Broadcasting(it: it, sender: sender, channels: channels))
                await sender.close()
            }
        }

        private func rejected(_ status: Int, _ reason: RejectionReason.Known) -> PushOutcome {
            .rejected(Rejection(status: status, reason: .known(reason)))
        }

        @Test(arguments: TransportKind.allCases)
        func `the life of a channel`(_ kind: TransportKind) async throws {
            try await run(kind) { it in
                let channel = try await it.channels.create(.newest)
                let other = try await it.channels.create(.none)
                #expect(try await it.channels.list() == [channel, other])
                #expect(try await it.channels.read(channel) == .newest)
                #expect(try await it.channels.read(other) == .none)

                for goals in 1...20 { #expect(await it.send(other, goals: goals) == .accepted) }
                let received = try #require(it.it.simulator.channel(other.rawValue)?.received)
                #expect(received.accepted == 20 && received.duplicates == 0 && received.outOfOrder == 0)
                #expect(received.contentState == #"{"goals":20}"#)
                // One connection is kept, because a connection for each request would look like an attack.
                #expect(it.it.simulator.snapshot().connections == 1)

                try await it.channels.delete(channel)
                #expect(try await it.channels.list() == [other])
                let gone = await #expect(throws: BroadcastChannelError.self) { try await it.channels.delete(channel) }
                #expect(gone?.reason == .channelNotRegistered && gone?.isRetriable == false)
                #expect(
                    gone?.description == "APNs does not delete the channel: 400 ChannelNotRegistered; "
                        + "there is no such channel of this app in this environment")
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `each verdict of a broadcast`(_ kind: TransportKind) async throws {
            try await run(kind) { it in
                let channel = try await it.channels.create(.none)
                let unknown = try BroadcastChannelID("c29tZUNoYW5uZWw=")
                let lost = await it.send(unknown)
                #expect(lost == rejected(400, .channelNotRegistered))
                guard case .rejected(let rejection) = lost else { return }
                #expect(rejection.verdict == .recreateTarget)

                #expect(await it.sender.send(it.broadcast(channel, bytes: 5_120)) == .accepted)
                let large = await it.sender.send(it.broadcast(channel, bytes: 5_121))
                #expect(large == rejected(413, .payloadTooLarge))
                // The request is sent as if the channel kept messages.
                var late = it.broadcast(channel)
                let field = try #require(late.fields.firstIndex { $0.name == "apns-expiration" })
                late.fields[field].value = "1795276800"
                #expect(await it.sender.send(late) == rejected(400, .badExpirationDate))

                try it.set { $0.broadcastRejections = ["TooManyRequests": 1] }
                let limited = await it.send(channel)
                #expect(limited == rejected(429, .tooManyRequests))
                guard case .rejected(let limit) = limited else { return }
                #expect(limit.verdict == .retry)
                try it.set { _ in }
                #expect(await it.send(channel) == .accepted)
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `an expired provider token is renewed on both ways`(_ kind: TransportKind) async throws {
            try await run(kind) { it in
                try it.set { $0.expireNext = 1 }
                let channel = try await it.channels.create(.none)
                #expect(it.it.simulator.snapshot().broadcasts.manageByReason == ["ExpiredProviderToken": 1])
                try it.set { $0.expireNext = 1 }
                #expect(await it.send(channel) == .accepted)
                let record = it.it.simulator.snapshot().broadcasts
                #expect(record.byReason == ["ExpiredProviderToken": 1] && record.accepted == 1)
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `a broadcast has its deadline and a new connection`(_ kind: TransportKind) async throws {
            try await run(kind, client: { $0.requestTimeout = .seconds(6) }) { it in
                let channel = try await it.channels.create(.none)
                try it.set { $0.stallAfter = 0 }
                #expect(await it.send(channel) == .unanswered(.init(.timeout, mayHaveBeenDelivered: true)))
                try it.set { _ in }
                #expect(await it.send(channel, goals: 2) == .accepted)
                #expect(it.it.simulator.snapshot().connections == 2)
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `a server that is not there`(_ kind: TransportKind) async throws {
            let nobody = try LoopbackPort(isListening: false)
            try await run(kind) { it in
                var elsewhere = it.it.client
                elsewhere.origin = nobody.origin
                let channels = try BroadcastChannelManager(configuration: elsewhere, bundleID: Simulation.bundleID)
                let error = await #expect(throws: BroadcastChannelError.self) { try await channels.create(.none) }
                guard case .unanswered(.create(.none), _, mayHaveHappened: false) = error else {
                    Issue.record("\(String(describing: error))")
                    return
                }
                #expect(error?.isRetriable == true)
                let sender = try BroadcastSender(it.it.kind, LaneSettings(elsewhere, it.it.logger))
                let outcome = await sender.send(it.broadcast(try BroadcastChannelID("YWI=")))
                #expect(outcome == .unanswered(.init(.connectionFailed, mayHaveBeenDelivered: false)))
                await sender.close()
                #expect(
                    await sender.send(it.broadcast(try BroadcastChannelID("YWI=")))
                        == .unanswered(.init(.cancelled, mayHaveBeenDelivered: false)))
            }
        }

        /// A worker that was suspended with a broadcast in hand must not send it behind newer ones.
        @Test func `a broadcast whose sender has lost its lease is not begun`() async throws {
            try await run { it in
                let channel = try await it.channels.create(.none)
                let outcome = await it.sender.send(it.broadcast(channel), while: LostLease())
                #expect(outcome == .unanswered(.init(.cancelled, mayHaveBeenDelivered: false)))
                #expect(await it.send(channel) == .accepted)
            }
        }

        private struct LostLease: SendPermission { var holds: Bool { false } }

        /// The channel was created but the response was lost. Only the list of channels shows it.
        @Test func `an orphan`() async throws {
            try await run { it in
                try it.set { $0.manageLoseNext = 1 }
                let error = await #expect(throws: BroadcastChannelError.self) { try await it.channels.create(.none) }
                guard case .unanswered(_, _, mayHaveHappened: true) = error else {
                    Issue.record("\(String(describing: error))")
                    return
                }
                #expect(try await it.channels.list().count == 1)
            }
        }

        @Test func `what the management refuses`() async throws {
            try await run(server: { $0.channelLimit = 1 }) { it in
                try it.set { $0.manageRejections = ["FeatureNotEnabled": 1] }
                let off = await #expect(throws: BroadcastChannelError.self) { try await it.channels.create(.none) }
                #expect(off?.description.contains("FeatureNotEnabled; switch on Broadcast Capability") == true)
                try it.set { $0.manageRejections = ["ServiceUnavailable": 1] }
                let busy = await #expect(throws: BroadcastChannelError.self) { try await it.channels.list() }
                #expect(busy?.isRetriable == true)
                try it.set { _ in }
                _ = try await it.channels.create(.none)
                let full = await #expect(throws: BroadcastChannelError.self) { try await it.channels.create(.none) }
                #expect(full?.reason == .cannotCreateChannelConfig && full?.isRetriable == false)
            }
        }
    }
}
