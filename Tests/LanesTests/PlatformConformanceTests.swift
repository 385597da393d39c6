import Delivery
import LiveActivity
import Synchronization
import TestSupport
import Testing

@testable import Lanes

/// What the worker relies on, whatever the platform and the lane are. Each platform passes it before it ships
/// (docs/adr/0047-platforms.md).
@Suite struct PlatformConformanceTests {
    private typealias Setup = PlatformUnderTest.Setup

    private static let cancelled = PushOutcome.unanswered(NoAnswer(.cancelled, mayHaveBeenDelivered: false))

    private func setup(_ faults: PlatformFaults = PlatformFaults(), timeout: Duration = .seconds(60)) -> Setup {
        Setup(requestTimeout: timeout, faults: faults)
    }

    private func rejections(_ outcome: PageOutcome) -> [Int: Rejection] {
        outcome.exceptions.reduce(into: [:]) { found, exception in
            if case .rejected(let rejection) = exception.outcome { found[exception.index] = rejection }
        }
    }

    @Test(arguments: PlatformUnderTest.all, TransportKind.allCases)
    func `a page reaches each address once, and so does the next push`(
        _ platform: PlatformUnderTest, _ kind: TransportKind
    ) async throws {
        try await platform.run(kind, setup()) { it in
            #expect(await it.send(0..<1_000, push: 1) == PageOutcome(accepted: 1_000))
            #expect(await it.send(0..<1_000, push: 2) == PageOutcome(accepted: 1_000))
            let record = it.record()
            #expect(record.requests == 2_000 && record.accepted == 2_000 && record.duplicates == 0, "\(record)")
        }
    }

    @Test(arguments: PlatformUnderTest.all, TransportKind.allCases)
    func `pages of different pushes share the lanes`(_ platform: PlatformUnderTest, _ kind: TransportKind) async throws
    {
        var setup = setup()
        setup.lanes = 3
        try await platform.run(kind, setup) { it in
            let accepted = await withTaskGroup(of: PageOutcome.self) { group in
                for number in 0..<6 { group.addTask { await it.send(0..<300, push: number) } }
                group.addTask { await it.send(0..<1, push: 6) }
                return await group.reduce(0) { $0 + $1.accepted }
            }
            #expect(accepted == 1_801)
            #expect(it.record().duplicates == 0)
        }
    }

    @Test(arguments: PlatformUnderTest.all, TransportKind.allCases)
    func `a dead address comes back with its index and the verdict to prune`(
        _ platform: PlatformUnderTest, _ kind: TransportKind
    ) async throws {
        var faults = PlatformFaults()
        faults.dead = [3, 499]
        try await platform.run(kind, setup(faults)) { it in
            let outcome = await it.send(0..<500)
            #expect(outcome.accepted == 498 && outcome.exceptions.map(\.index) == [3, 499])
            #expect(rejections(outcome).values.allSatisfy { $0.verdict == it.deadVerdict && !$0.reason.isEmpty })
        }
    }

    @Test(arguments: PlatformUnderTest.all, TransportKind.allCases)
    func `a 429 brings its pause for each entry`(_ platform: PlatformUnderTest, _ kind: TransportKind) async throws {
        var faults = PlatformFaults()
        (faults.refusal, faults.retryAfter) = (.tooMany, 7)
        try await platform.run(kind, setup(faults)) { it in
            let outcome = await it.send(0..<300)
            let found = rejections(outcome)
            #expect(outcome.accepted == 0 && found.count == 300)
            #expect(
                found.values.allSatisfy {
                    $0.status == 429 && $0.retryAfter == 7 && $0.verdict == it.tooManyVerdict
                })
            // A pause of the whole app is not asked for three hundred times.
            if it.tooManyVerdict == .pauseApp { #expect(it.record().requests < 300) }
            try it.setFaults(PlatformFaults())
            #expect(await it.send(0..<300, push: 2).accepted == 300)
        }
    }

    @Test(arguments: PlatformUnderTest.all, TransportKind.allCases)
    func `a server that is down for a moment is tried again later`(
        _ platform: PlatformUnderTest, _ kind: TransportKind
    ) async throws {
        var faults = PlatformFaults()
        (faults.refusal, faults.retryAfter) = (.unavailable, 4_000)
        try await platform.run(kind, setup(faults)) { it in
            let found = rejections(await it.send(0..<50))
            #expect(found.count == 50)
            #expect(
                found.values.allSatisfy {
                    $0.status == 503 && $0.verdict == .retry && $0.retryAfter == RetryAfter.longest
                })
        }
    }

    @Test(arguments: PlatformUnderTest.all, TransportKind.allCases)
    func `an answer about the whole push ends its page`(_ platform: PlatformUnderTest, _ kind: TransportKind)
        async throws
    {
        var faults = PlatformFaults()
        faults.refusal = .push
        try await platform.run(kind, setup(faults)) { it in
            let found = rejections(await it.send(0..<1_000))
            #expect(found.count == 1_000 && found.values.allSatisfy { $0.verdict == .stopPush })
            #expect(it.record().requests < 1_000)
        }
    }

    @Test(arguments: PlatformUnderTest.all, TransportKind.allCases)
    func `a GOAWAY in the middle of a page loses and repeats nothing`(
        _ platform: PlatformUnderTest, _ kind: TransportKind
    ) async throws {
        var faults = PlatformFaults()
        (faults.goawayAfter, faults.latency) = (150, 5)
        try await platform.run(kind, setup(faults)) { it in
            #expect(await it.send(0..<1_000) == PageOutcome(accepted: 1_000))
            let record = it.record()
            #expect(record.accepted == 1_000 && record.duplicates == 0 && record.goaways > 0, "\(record)")
        }
    }

    @Test(arguments: PlatformUnderTest.all, TransportKind.allCases)
    func `requests that are not answered are handed over, and their answers come late`(
        _ platform: PlatformUnderTest, _ kind: TransportKind
    ) async throws {
        var faults = PlatformFaults()
        (faults.slow, faults.dead, faults.silent) = ([10, 20], [20], [30])
        try await platform.run(kind, setup(faults, timeout: .seconds(12))) { it in
            let outcome = await it.sendOpen(0..<100)
            #expect(outcome.accepted == 97 && outcome.open == [10, 20, 30] && outcome.exceptions.isEmpty)
            var late: [Int: PushOutcome] = [:]
            for answers in outcome.late {
                while case let found = await answers.next(), !found.isEmpty {
                    for answer in found { late[answer.index] = answer.outcome }
                }
            }
            #expect(late.keys.sorted() == [10, 20, 30] && late[10] == .accepted)
            #expect(late[30] == .unanswered(NoAnswer(.timeout, mayHaveBeenDelivered: true)))
            guard case .rejected(let rejection)? = late[20] else {
                Issue.record("\(late)")
                return
            }
            #expect(rejection.verdict == it.deadVerdict)
            #expect(it.record().duplicates == 0)
        }
    }

    /// A permission for a number of requests, like a lease that ends while a page is being sent.
    private final class CountedPermission: SendPermission {
        private let left: Atomic<Int>
        init(_ count: Int) { left = Atomic(count) }
        var holds: Bool { left.subtract(1, ordering: .relaxed).newValue >= 0 }
    }

    @Test(arguments: PlatformUnderTest.all, TransportKind.allCases)
    func `entries that have not left when the permission ends come back cancelled`(
        _ platform: PlatformUnderTest, _ kind: TransportKind
    ) async throws {
        try await platform.run(kind, setup()) { it in
            let outcome = await it.transport.send(it.page(0..<50), it.push(1), while: CountedPermission(10))
            #expect((1...10).contains(outcome.accepted) && outcome.exceptions.count == 50 - outcome.accepted)
            #expect(outcome.exceptions.allSatisfy { $0.outcome == Self.cancelled })
            #expect(it.record().requests == outcome.accepted)
            #expect(await it.send(50..<100) == PageOutcome(accepted: 50))
        }
    }

    @Test(arguments: PlatformUnderTest.all, TransportKind.allCases)
    func `a credential that expires is renewed once, and nothing is lost`(
        _ platform: PlatformUnderTest, _ kind: TransportKind
    ) async throws {
        try await platform.run(kind, setup()) { it in
            #expect(await it.send(0..<200) == PageOutcome(accepted: 200))
            var faults = PlatformFaults()
            faults.expiresCredential = true
            try it.setFaults(faults)
            #expect(await it.send(200..<400) == PageOutcome(accepted: 200))
            let refused = it.record().refusedCredentials
            #expect(refused > 0)
            #expect(await it.send(400..<600) == PageOutcome(accepted: 200))
            #expect(it.record().refusedCredentials == refused && it.record().duplicates == 0)
        }
    }

    @Test(arguments: PlatformUnderTest.all, TransportKind.allCases)
    func `a credential that the platform does not know halts the page after one request`(
        _ platform: PlatformUnderTest, _ kind: TransportKind
    ) async throws {
        var faults = PlatformFaults()
        faults.refusal = .credential
        try await platform.run(kind, setup(faults)) { it in
            let began = ContinuousClock.now
            let found = rejections(await it.send(0..<20))
            #expect(found.count == 20 && found.values.allSatisfy { $0.verdict == .haltApp })
            // A machine may be so busy that the lane takes the first token for a silent phone's, and sends more.
            let isSlow = began.duration(to: .now) >= .milliseconds(Patience.first)
            #expect(it.record().requests == 1 || isSlow)
        }
    }

    @Test(arguments: PlatformUnderTest.all, TransportKind.allCases)
    func `a trace shows each request without its secrets`(_ platform: PlatformUnderTest, _ kind: TransportKind)
        async throws
    {
        try await platform.run(kind, setup()) { it in
            let trace = ExchangeRecorder()
            var push = it.push(1)
            push.trace = trace
            #expect(await it.transport.send(it.page(0..<3), push).accepted == 3)
            #expect(trace.exchanges.count == 3)
            for exchange in trace.exchanges {
                let shown = String(decoding: exchange.json(), as: UTF8.self) + exchange.path
                #expect(it.secrets().allSatisfy { !shown.contains($0) }, "\(shown)")
                #expect(exchange.fields.first?.name == "authorization")
                #expect(exchange.fields.dropFirst() == push.fields[...])
            }
        }
    }

    @Test(arguments: PlatformUnderTest.all, TransportKind.allCases)
    func `a close waits for requests in flight and cancels the rest`(
        _ platform: PlatformUnderTest, _ kind: TransportKind
    ) async throws {
        var setup = setup()
        (setup.streams, setup.faults.latency) = (50, 300)
        try await platform.run(kind, setup) { it in
            async let sent = it.send(0..<1_000)
            try await eventually("some requests are in flight") { it.record().maximumInFlight >= 10 }
            await it.transport.close()
            let outcome = await sent
            #expect(outcome.accepted >= 10 && outcome.accepted == it.record().accepted)
            #expect(outcome.exceptions.count == 1_000 - outcome.accepted)
            #expect(outcome.exceptions.allSatisfy { $0.outcome == Self.cancelled })
            #expect(await it.send(0..<3).exceptions.map(\.outcome) == [Self.cancelled, Self.cancelled, Self.cancelled])
        }
    }
}
