import APNsClient
import APNsWire
import Delivery
import Lanes
import LiveActivity
import Testing

@testable import APNsSimulator

extension TransportTests {
    @Suite struct DeliveryTests {
        @Test(arguments: TransportKind.allCases)
        func `a page of a thousand reaches each token once`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { server in
                server.faults.latency = 5
            } _: { it in
                let outcome = await it.send(0..<1_000)
                #expect(outcome == PageOutcome(accepted: 1_000))
                let record = it.simulator.snapshot()
                #expect(record.requests == 1_000)
                #expect(record.acceptedTokens == 1_000)
                #expect(record.duplicates == 0)
                #expect(record.connections == 1)
                // The limit is one stream until the first request was authenticated, and more afterwards.
                #expect(record.excessStreams == 0)
                #expect(record.maximumInFlight > 1)
                let report = try #require(it.simulator.token(Hex.encode(Simulation.token(999))))
                #expect(report.accepted == 1)
                #expect(report.timestamp == 1_790_000_000)
                #expect(report.event == "update")
                #expect(report.contentState == #"{"home":1,"away":0}"#)
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `an empty page is answered without a connection`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { it in
                #expect(await it.transport.send(TokenPage(), Simulation.push()) == PageOutcome())
                #expect(it.simulator.snapshot().connections == 0)
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `the connection is kept and pushes of different headers share it`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { it in
                for number in 0..<5 {
                    let push = Simulation.push(
                        timestamp: 1_790_000_000 + number, priority: number % 2 == 0 ? .high : .low)
                    #expect(await it.transport.send(Simulation.page(0..<50), push) == PageOutcome(accepted: 50))
                }
                let record = it.simulator.snapshot()
                #expect(record.connections == 1)
                #expect(record.outOfOrder == 0)
                #expect(it.simulator.token(Hex.encode(Simulation.token(7)))?.timestamp == 1_790_000_004)
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `dead tokens come back with index reason and milliseconds`(_ kind: TransportKind) async throws {
            let dead: [(Int, RejectionReason.Known, Int, Int?)] = [
                (3, .unregistered, 410, 1_719_244_800_123), (500, .expiredToken, 410, 1_719_244_800_456),
                (501, .badDeviceToken, 400, nil), (999, .deviceTokenNotForTopic, 400, nil),
            ]
            try await Simulation.run(kind) { server in
                server.faults.deadTokens = dead.map { number, reason, _, since in
                    DeadToken(prefix: Hex.encode(Simulation.token(number)), reason: reason.rawValue, since: since)
                }
            } _: { it in
                let outcome = await it.send(0..<1_000)
                #expect(outcome.accepted == 996)
                #expect(
                    outcome.exceptions
                        == dead.map { number, reason, status, since in
                            .init(
                                index: number,
                                outcome: .rejected(
                                    Rejection(status: status, reason: .known(reason), timestamp: since.map(Int64.init)))
                            )
                        })
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `tokens of any length are sent whole`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { it in
                var page = TokenPage()
                for length in [32, 33, 100, 511, 512] {
                    page.append(
                        channel: [1], token: [UInt8](repeating: UInt8(length & 0xFF), count: length), registeredAt: 0)
                }
                #expect(await it.transport.send(page, Simulation.push()) == PageOutcome(accepted: 5))
                #expect(it.simulator.token(String(repeating: "ff", count: 511))?.accepted == 1)
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `a retry after is reported`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { server in
                server.faults.rejectAll = "TooManyRequests"
            } _: { it in
                let outcome = await it.send(0..<20)
                #expect(outcome.accepted == 0)
                for exception in outcome.exceptions {
                    guard case .rejected(let rejection) = exception.outcome else {
                        Issue.record("\(exception)")
                        continue
                    }
                    #expect(rejection.status == 429)
                    #expect(rejection.reason == RejectionReason.Known.tooManyRequests.rawValue)
                    #expect(rejection.verdict == .retry)
                }
            }
        }

        @Test(arguments: TransportKind.allCases, [7, 4_000, 3_000_000_000])
        func `a retry after of any size is an hour at most`(_ kind: TransportKind, seconds: Int) async throws {
            try await Simulation.run(kind) { server in
                server.faults.rejectAll = "ServiceUnavailable"
                server.faults.retryAfter = seconds
            } _: { it in
                let outcome = await it.send(0..<5)
                #expect(outcome.exceptions.count == 5)
                for exception in outcome.exceptions {
                    guard case .rejected(let rejection) = exception.outcome else {
                        Issue.record("\(exception)")
                        continue
                    }
                    #expect(rejection.retryAfter == min(seconds, RetryAfter.longest))
                }
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `an answer that concerns the whole push ends its page`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { server in
                server.faults.rejectAll = "BadTopic"
            } _: { it in
                let outcome = await it.send(0..<1_000)
                #expect(outcome.accepted == 0)
                #expect(outcome.exceptions.map(\.index) == Array(0..<1_000))
                #expect(outcome.kinds == [.rejected(Rejection(status: 400, reason: .known(.badTopic))): 1_000])
                #expect(it.simulator.snapshot().requests < 1_000)
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `several pages at once spread over the lanes`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { server in
                server.faults.latency = 5
            } client: { client in
                client.lanes = 3
            } _: { it in
                let accepted = await withTaskGroup(of: PageOutcome.self) { group in
                    for number in 0..<9 { group.addTask { await it.send(number * 500..<(number + 1) * 500) } }
                    return await group.reduce(0) { $0 + $1.accepted }
                }
                #expect(accepted == 4_500)
                let record = it.simulator.snapshot()
                #expect(record.acceptedTokens == 4_500)
                #expect(record.duplicates == 0)
                // On a busy machine a lane may take a slow first answer for none, and make another connection.
                #expect(record.connections >= 3 && it.transport.lanes.connected == 3)
                #expect(record.excessStreams == 0)
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `a small page does not wait for the large ones before it`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { server in
                server.streams = 50
                // Nothing is answered before all pages are posted, even on a busy machine.
                server.faults.latency = 3_000
            } _: { it in
                // Post one page after the other, so that the order at the lane is known.
                let sizes = try await withThrowingTaskGroup(of: Int.self) { group in
                    for number in 0..<8 {
                        group.addTask { await it.send(number * 400..<(number + 1) * 400).count }
                        try await it.wait { $0.requests > 50 || it.transport.load >= (number + 1) * 400 }
                    }
                    group.addTask { await it.send(100_000..<100_001).count }
                    try await it.wait { $0.requests > 50 || it.transport.load > 3_200 }
                    try it.simulator.setFaults(Faults())
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(sizes.first == 1)
                #expect(sizes.count == 9)
            }
        }
    }
}
