import Curl
import Foundation
import NIOCore
import Testing

@testable import APNsSimulator

/// Tests that every fault really happens.
@Suite(.timeLimit(.minutes(5)))
struct FaultTests {
    // MARK: Tokens

    /// The same seed kills the same tokens, in about the wanted share. `isDead` tells which tokens these are.
    @Test func `dead tokens are foretold`() async throws {
        try await SimulatorFixture.run({
            $0.seed = 42
            $0.faults.deadShare = 0.3
        }) { fixture async throws in
            let connection = try await RawConnection.open(fixture.simulator)
            var dead = 0
            for number in 0..<200 {
                let token = SimulatorFixture.token(number)
                try await connection.push(number, token: token, headers: fixture.headers())
                let answer = try await connection.answer(stream: number)
                let isDead = APNsSimulator.isDead(token: SimulatorFixture.bytes(token), share: 0.3, seed: 42)
                #expect(answer.status == (isDead ? 410 : 200))
                dead += isDead ? 1 : 0
            }
            #expect((40...80).contains(dead))
            #expect(fixture.simulator.snapshot().byReason == ["Unregistered": dead])
            #expect(fixture.simulator.snapshot().byStatus == ["200": 200 - dead, "410": dead])
            await connection.close()
        }
    }

    @Test func `a 410 has milliseconds and a 400 has none`() async throws {
        try await SimulatorFixture.run({
            $0.faults.deadTokens = [
                DeadToken(prefix: "0000000000000001", since: 1_763_000_000_123),
                DeadToken(prefix: "0000000000000002", reason: "BadDeviceToken"),
                DeadToken(prefix: "0000000000000003", reason: "ExpiredToken"),
            ]
        }) { fixture async throws in
            let first = try await fixture.push(SimulatorFixture.token(1))
            #expect(first.status == 410 && first.reason == "Unregistered" && first.timestamp == 1_763_000_000_123)
            let second = try await fixture.push(SimulatorFixture.token(2))
            #expect(second.status == 400 && second.reason == "BadDeviceToken" && second.timestamp == nil)
            let before = Int(Date().timeIntervalSince1970 * 1_000)
            let third = try await fixture.push(SimulatorFixture.token(3))
            #expect(third.status == 410 && third.reason == "ExpiredToken")
            #expect(try #require(third.timestamp) >= before)
            #expect(try await fixture.push(SimulatorFixture.token(4)).status == 200)
        }
    }

    @Test func `one reason for tokens of a prefix, and they are not called dead`() async throws {
        try await SimulatorFixture.run({
            $0.faults.refusedTokens = [RefusedToken(prefix: "0000000000000001", reason: "TopicDisallowed")]
        }) { fixture async throws in
            let refused = try await fixture.push(SimulatorFixture.token(1))
            #expect(refused.status == 400 && refused.reason == "TopicDisallowed" && refused.timestamp == nil)
            #expect(try await fixture.push(SimulatorFixture.token(2)).status == 200)
            #expect(fixture.simulator.token(SimulatorFixture.token(1))?.deadAnswers == 0)
        }
    }

    @Test func `what is busy says when to come back`() async throws {
        try await SimulatorFixture.run({ $0.faults.retryAfter = 17 }) { fixture async throws in
            for (reason, seconds) in [
                ("TooManyRequests", "17"), ("ServiceUnavailable", "17"), ("InternalServerError", nil),
            ] {
                var faults = fixture.simulator.faults
                faults.rejectAll = reason
                try fixture.simulator.setFaults(faults)
                let answer = try await fixture.push()
                #expect(answer.reason == reason)
                #expect(answer.retryAfter == seconds)
            }
        }
    }

    @Test func `reasons of the dead by weight`() {
        var faults = Faults()
        faults.deadShare = 1
        faults.deadReasons = ["Unregistered": 3, "BadDeviceToken": 1]
        let answers = judgements(faults, tokens: 400)
        let bad = answers.count { $0 == .rejected(.badDeviceToken, timestamp: nil) }
        #expect((60...140).contains(bad))
        #expect(answers.allSatisfy { $0 != .accepted })
    }

    // MARK: Requests

    /// Rejections are drawn again for each attempt, so that retries succeed. They are the same on every run.
    @Test func `transient rejections end with retries`() {
        var faults = Faults()
        faults.rejections = ["TooManyRequests": 0.2, "InternalServerError": 0.1, "ServiceUnavailable": 0.1]
        var judge = Self.judge(faults)
        var counts: [Judgement: Int] = [:]
        for number in 0..<300 {
            var attempts = 0
            var judgement = Judgement.stalled
            while judgement != .accepted, attempts < 20 {
                judgement = Self.judge(&judge, number)
                counts[judgement, default: 0] += 1
                attempts += 1
            }
            #expect(judgement == .accepted)
        }
        #expect(counts[.accepted] == 300)
        let total = Double(counts.values.reduce(0, +))
        for (reason, share) in [(Reason.tooManyRequests, 0.2), (.internalServerError, 0.1), (.serviceUnavailable, 0.1)]
        {
            let seen = Double(counts[.rejected(reason, timestamp: nil), default: 0]) / total
            #expect(abs(seen - share) < 0.05, "\(reason)")
        }
        #expect(judgements(faults, tokens: 100) == judgements(faults, tokens: 100))
    }

    @Test func `credential faults`() async throws {
        try await SimulatorFixture.run({ $0.faults.expireNext = 2 }) { fixture async throws in
            #expect(try await fixture.push().reason == "ExpiredProviderToken")
            #expect(try await fixture.push().reason == "ExpiredProviderToken")
            #expect(try await fixture.push().status == 200)

            var faults = Faults()
            let now = Int(Date().timeIntervalSince1970)
            faults.expireIssuedBefore = now - 10
            try fixture.simulator.setFaults(faults)
            let old = try await fixture.push(headers: fixture.headers(jwt: try fixture.jwt(iat: "\(now - 60)")))
            #expect(old.reason == "ExpiredProviderToken")
            #expect(try await fixture.push().status == 200)

            faults = Faults()
            faults.rejectAll = "InvalidProviderToken"
            try fixture.simulator.setFaults(faults)
            let all = try await fixture.push()
            #expect(all.status == 403 && all.reason == "InvalidProviderToken")
        }
    }

    @Test func `latency`() async throws {
        try await SimulatorFixture.run({
            $0.faults.latency = 150
            $0.faults.latencyJitter = 50
        }) { fixture async throws in
            let start = ContinuousClock.now
            #expect(try await fixture.push().status == 200)
            #expect(ContinuousClock.now - start >= .milliseconds(150))
        }
    }

    @Test(arguments: [false, true]) func `resets`(delivers: Bool) async throws {
        try await SimulatorFixture.run({
            $0.faults.resetShare = 1
            $0.faults.resetCode = .refusedStream
            $0.faults.resetDelivers = delivers
        }) { fixture async throws in
            let connection = try await RawConnection.open(fixture.simulator)
            try await connection.push(0, headers: fixture.headers())
            #expect(try await connection.answer(stream: 0).reset == HTTP2ErrorCode.refusedStream.rawValue)
            let record = fixture.simulator.snapshot()
            #expect(record.reset == 1)
            #expect(record.accepted == 0)
            #expect(record.acceptedUnanswered == (delivers ? 1 : 0))
            #expect(record.inFlight == 0)
            // The device already had this push, so its retry is a duplicate.
            try fixture.simulator.setFaults(Faults())
            try await connection.push(1, token: SimulatorFixture.token(0), headers: fixture.headers())
            #expect(try await connection.answer(stream: 1).status == 200)
            #expect(fixture.simulator.snapshot().duplicates == (delivers ? 1 : 0))
            await connection.close()
        }
    }

    @Test func `stalls by share`() async throws {
        try await SimulatorFixture.run({ $0.faults.stallShare = 1 }) { fixture async throws in
            await #expect(throws: HTTPFailure.self) { try await fixture.push(timeout: .milliseconds(300)) }
            let record = fixture.simulator.snapshot()
            #expect(record.stalled == 1)
            #expect(record.acceptedUnanswered == 0)
        }
    }

    // MARK: Connections

    @Test func `stalls after n`() async throws {
        try await SimulatorFixture.run({ $0.faults.stallAfter = 2 }) { fixture async throws in
            let connection = try await RawConnection.open(fixture.simulator)
            for number in 0..<2 {
                try await connection.push(number, headers: fixture.headers())
                #expect(try await connection.answer(stream: number).status == 200)
            }
            try await connection.push(2, headers: fixture.headers())
            // The connection itself works: a PING after the request is answered, but the request is not.
            try await connection.ping()
            let frame = try await connection.first { $0.type == FrameType.settings.rawValue ? nil : $0 }
            #expect(frame.type == FrameType.ping.rawValue && frame.isAcknowledgement)
            #expect(fixture.simulator.snapshot().stalled == 1)
            #expect(fixture.simulator.snapshot().inFlight == 1)
            await connection.close()
        }
    }

    @Test func `a frozen connection says nothing`() async throws {
        try await SimulatorFixture.run({ $0.faults.freezeAfter = 1 }) { fixture async throws in
            let connection = try await RawConnection.open(fixture.simulator)
            try await connection.push(0, headers: fixture.headers())
            #expect(try await connection.answer(stream: 0).status == 200)
            try await connection.push(1, headers: fixture.headers())
            try await connection.ping()
            let isSilent = await withTaskGroup(of: Bool.self) { group in
                group.addTask { await connection.next() == nil }
                group.addTask {
                    try? await Task.sleep(for: .milliseconds(300))
                    return true
                }
                let first = await group.next() ?? false
                group.cancelAll()
                return first
            }
            #expect(isSilent)
            #expect(fixture.simulator.snapshot().openConnections == 1)
            // Other connections are served.
            #expect(try await fixture.push().status == 200)
            await connection.close()
        }
    }

    @Test func `graceful GOAWAY`() async throws {
        try await SimulatorFixture.run({
            $0.faults.goawayAfter = 2
            $0.faults.latency = 100
        }) { fixture async throws in
            let connection = try await RawConnection.open(fixture.simulator)
            var bytes = ByteBuffer()
            for number in 0..<3 {
                var request = RawConnection.request(number, headers: fixture.headers())
                bytes.writeBuffer(&request)
            }
            try await connection.send(bytes)
            let goaway = try await connection.goaway()
            #expect(goaway.lastStream == 3)
            #expect(goaway.code == 0)
            #expect(goaway.text == #"{"reason":"Shutdown"}"#)
            #expect(try await connection.answer(stream: 0).status == 200)
            #expect(try await connection.answer(stream: 1).status == 200)
            let rest = await connection.remaining()
            #expect(rest.allSatisfy { $0.stream != 5 })
            let record = fixture.simulator.snapshot()
            #expect(record.accepted == 2 && record.unprocessed == 1 && record.goaways == 1)
            #expect(record.inFlight == 0)
        }
    }

    @Test func `abrupt GOAWAY leaves what is in flight`() async throws {
        try await SimulatorFixture.run({
            $0.faults.goawayAfter = 4
            $0.faults.goawayMode = .abrupt
            $0.faults.goawayReason = "InternalServerError"
        }) { fixture async throws in
            let connection = try await RawConnection.open(fixture.simulator)
            try await connection.push(0, headers: fixture.headers())
            #expect(try await connection.answer(stream: 0).status == 200)
            var faults = fixture.simulator.faults
            faults.latency = 60_000
            try fixture.simulator.setFaults(faults)
            var bytes = ByteBuffer()
            for number in 1..<4 {
                var request = RawConnection.request(number, headers: fixture.headers())
                bytes.writeBuffer(&request)
            }
            try await connection.send(bytes)
            let goaway = try await connection.goaway()
            #expect(goaway.lastStream == 1)
            #expect(goaway.text == #"{"reason":"InternalServerError"}"#)
            #expect(await connection.remaining().isEmpty)
            let record = fixture.simulator.snapshot()
            #expect(record.accepted == 1 && record.unprocessed == 3)
            #expect(record.inFlight == 0)
        }
    }

    @Test func `the connection closes at the nth request`() async throws {
        try await SimulatorFixture.run({ $0.faults.closeAfter = 2 }) { fixture async throws in
            let connection = try await RawConnection.open(fixture.simulator)
            try await connection.push(0, headers: fixture.headers())
            #expect(try await connection.answer(stream: 0).status == 200)
            try await connection.push(1, headers: fixture.headers())
            #expect(await connection.remaining().allSatisfy { $0.type != FrameType.headers.rawValue })
            let record = fixture.simulator.snapshot()
            #expect(record.accepted == 1 && record.unprocessed == 1 && record.goaways == 0)
        }
    }

    @Test func `connections are refused`() async throws {
        try await SimulatorFixture.run({ $0.faults.refuseConnections = true }) { fixture async throws in
            await #expect(throws: HTTPFailure.self) { try await fixture.push() }
            try fixture.simulator.setFaults(Faults())
            #expect(try await fixture.push().status == 200)
        }
    }

    // MARK: Scenario

    @Test func `phases come by requests and by time`() {
        var down = Faults()
        down.rejectAll = "ServiceUnavailable"
        var dead = Faults()
        dead.deadShare = 1
        var configuration = Self.configuration(Faults())
        configuration.scenario = Scenario(phases: [
            .init(afterRequests: 2, faults: down), .init(afterSeconds: 10, faults: Faults()),
            .init(afterRequests: 6, afterSeconds: 20, faults: dead),
        ])
        var judge = Judge(configuration: configuration, keys: [], now: 0)
        #expect(judge.record.totals.phase == nil)
        var phases: [Int?] = []
        for now in [1_000, 2_000, 3_000, 9_999, 10_000, 21_000, 22_000] {
            _ = judge.arrive(RequestHead([]), number: 1, inFlight: 1, now: now)
            phases.append(judge.record.totals.phase)
        }
        #expect(phases == [nil, nil, 0, 0, 1, 1, 2])
        #expect(judge.faults == dead)
        judge.reset(now: 30_000)
        #expect(judge.faults == Faults())
        judge.replaceFaults(down)
        _ = judge.arrive(RequestHead([]), number: 1, inFlight: 1, now: 90_000)
        #expect(judge.faults == down)
    }

    // MARK: Judgements without a socket

    private static func configuration(_ faults: Faults) -> SimulatorConfiguration {
        var configuration = SimulatorConfiguration(certificateDirectory: "unused")
        configuration.faults = faults
        return configuration
    }

    private static let key = try? P256KeyPair()

    private static func judge(_ faults: Faults) -> Judge {
        Judge(configuration: configuration(faults), keys: key.map { [$0.provider] } ?? [], now: 0)
    }

    private static func judge(_ judge: inout Judge, _ number: Int) -> Judgement {
        var connection = ConnectionFacts()
        let head = RequestHead([
            (":method", "POST"), (":scheme", "https"), (":path", "/3/device/\(SimulatorFixture.token(number))"),
            ("authorization", "bearer \(key?.token ?? "")"), ("apns-push-type", "liveactivity"),
            ("apns-topic", SimulatorFixture.topic),
        ])
        let body = ByteBuffer(string: SimulatorFixture.update(1_763_700_000))
        let now = P256KeyPair.issuedAt * 1_000
        return judge.judge(head, body: body, stallsHere: false, connection: &connection, now: now).judgement
    }

    private func judgements(_ faults: Faults, tokens: Int) -> [Judgement] {
        var judge = Self.judge(faults)
        return (0..<tokens).map { number in
            if case .rejected(let reason, _) = Self.judge(&judge, number) {
                .rejected(reason, timestamp: nil)
            } else {
                .accepted
            }
        }
    }
}
