import Testing

@testable import Redis

/// Tests the life of a connection without a socket.
@Suite struct ConnectionMachineTests {
    private typealias Machine = ConnectionMachine<Int>
    private static let began = ContinuousClock.now
    private static let now: Int64 = 1_000_000
    private static let broken = LinkFailure.broken("why")

    enum Event: CaseIterable { case nothing, caller, pauseOver, closing, connected, failed, broke }

    /// A machine in a phase. When it is connected, batch 1 was written, batch 2 was not, and batch 3 has just come.
    private func machine(_ phase: Machine.Phase) -> Machine {
        var machine = Machine(url: "redis://r", commandTimeout: .seconds(5))
        if phase == .idle { return machine }
        machine.take([batch(1)])
        #expect(machine.next(now: Self.now) == .connect)
        if phase == .retrying { _ = machine.failed(Self.broken, now: Self.now, fraction: 1) }
        guard phase == .connected else { return machine }
        _ = machine.connected(at: 100)
        machine.take([batch(2)])
        _ = machine.write(now: Self.began)
        machine.take([batch(3)])
        return machine
    }

    private func batch(_ caller: Int, blocking: Duration = .zero) -> Batch<Int> {
        Batch(bytes: Array(repeating: 0, count: 10), replies: caller, blocking: blocking, caller: caller)
    }

    /// - Returns: the callers that get an error, with its first word
    private func apply(_ event: Event, to machine: inout Machine) -> [String] {
        let refusals: [Machine.Refusal]
        switch event {
        case .nothing, .pauseOver: refusals = []
        case .caller:
            machine.take([batch(9)])
            refusals = []
        case .closing:
            machine.take([batch(9)], isClosing: true)
            #expect(machine.next(now: Self.now) == .end)
            refusals = machine.end(written: 115)
        case .connected:
            _ = machine.connected(at: 100)
            refusals = []
        case .failed: refusals = machine.failed(Self.broken, now: Self.now, fraction: 1).refusals
        case .broke: refusals = machine.broke(Self.broken, written: 105)
        }
        return refusals.map { "\($0.batch.caller) \(word($0.error))" }
    }

    private func word(_ error: RedisError) -> String {
        switch error {
        case .lost: "lost"
        case .closed: "closed"
        case .unreachable("redis://r: why"): "unreachable"
        case .unexpectedReply: "unexpected"
        default: "\(error)"
        }
    }

    @Test(
        arguments: [
            // A connection is made for the first batch, and from then on until one is there.
            (.idle, .nothing, .idle, .sleep(nil), []),
            (.idle, .caller, .connecting, .connect, []),
            (.retrying, .nothing, .retrying, .sleep(.milliseconds(50)), []),
            (.retrying, .caller, .retrying, .sleep(.milliseconds(50)), []),
            (.retrying, .pauseOver, .connecting, .connect, []),
            (.connecting, .connected, .connected, .exchange, []),
            (.connecting, .failed, .retrying, .sleep(.milliseconds(50)), ["1 unreachable"]),
            (.connected, .nothing, .connected, .exchange, []),
            (.connected, .caller, .connected, .exchange, []),
            // Of batch 1 some bytes were written. The others wait for the next connection.
            (.connected, .broke, .connecting, .connect, ["1 lost"]),
            // The client closes. Of batch 2 some bytes were written too by then.
            (.idle, .closing, .ended, .end, ["9 closed"]),
            (.retrying, .closing, .ended, .end, ["9 closed"]),
            (.connecting, .closing, .ended, .end, ["1 closed", "9 closed"]),
            (.connected, .closing, .ended, .end, ["1 lost", "2 lost", "3 closed", "9 closed"]),
        ]
            as [(
                ConnectionMachine<Int>.Phase, Event, ConnectionMachine<Int>.Phase, ConnectionMachine<Int>.Action,
                [String]
            )])
    func `each event leads from each phase to one other`(
        from: ConnectionMachine<Int>.Phase, event: Event, to: ConnectionMachine<Int>.Phase,
        action: ConnectionMachine<Int>.Action, refused: [String]
    ) {
        var machine = machine(from)
        #expect(apply(event, to: &machine) == refused)
        if to != .ended { #expect(machine.next(now: Self.now + (event == .pauseOver ? 50 : 0)) == action) }
        #expect(machine.phase == to)
    }

    @Test func `a batch moves to a new connection only once`() {
        var machine = machine(.connected)
        _ = machine.broke(Self.broken, written: 105)
        #expect(machine.next(now: Self.now) == .connect)
        _ = machine.connected(at: 100)
        #expect(machine.write(now: Self.began).batches.map(\.caller) == [2, 3])
        let refused = machine.broke(Self.broken, written: 100)
        #expect(refused.map { "\($0.batch.caller) \(word($0.error))" } == ["2 unreachable"])
        #expect(machine.next(now: Self.now) == .connect, "batch 3 had come after the first connection was used")
        _ = machine.connected(at: 100)
        #expect(machine.write(now: Self.began).batches.map(\.caller) == [3])
    }

    @Test func `only the first of the lost batches gets a reply that breaks the protocol`() {
        var machine = machine(.connected)
        let refused = machine.broke(.protocolViolation("why"), written: 120)
        #expect(refused.map { "\($0.batch.caller) \(word($0.error))" } == ["1 unexpected", "2 lost"])
    }

    @Test func `replies are expected batch by batch`() {
        var machine = machine(.connecting)
        #expect(machine.connected(at: 100) == false)
        machine.take([batch(2)])
        let (batches, first) = machine.write(now: Self.began)
        #expect(batches.map(\.caller) == [1, 2] && first == 1)
        machine.take([batch(3)])
        #expect(machine.write(now: Self.began).expecting == nil, "the reply to batch 1 is due")
        for (caller, next) in [(1, 2), (2, 3), (3, nil)] {
            let answer = machine.answered(now: Self.began)
            #expect(answer.batch.caller == caller && answer.expecting == next)
        }
        #expect(machine.unanswered == 0 && machine.deadline == nil)
    }

    @Test func `batches that come while a reply is owed share the next turn, if the client asks for it`() {
        var machine = Machine(url: "redis://r", commandTimeout: .seconds(5), sharesTurns: true)
        machine.take([batch(1)])
        #expect(machine.next(now: Self.now) == .connect)
        _ = machine.connected(at: 0)
        #expect(machine.write(now: Self.began).batches.map(\.caller) == [1])
        for caller in 2...3 {
            machine.take([batch(caller)])
            #expect(machine.write(now: Self.began).batches.isEmpty)
        }
        #expect(machine.answered(now: Self.began).expecting == nil)
        let (batches, expecting) = machine.write(now: Self.began)
        #expect(batches.map(\.caller) == [2, 3] && expecting == 2)
        // No byte of the waiting batches was written, so they move to the next connection as often as it takes.
        machine.take([batch(4)])
        #expect(apply(.broke, to: &machine) == ["2 lost", "3 lost"])
        #expect(machine.next(now: Self.now) == .connect)
        _ = machine.connected(at: 0)
        #expect(machine.write(now: Self.began).batches.map(\.caller) == [4])
    }

    @Test func `a reply is late if nothing of it has come for the timeout and the time that its command waits`() throws
    {
        var machine = machine(.connecting)
        _ = machine.connected(at: 0)
        machine.take([batch(2, blocking: .seconds(2))])
        _ = machine.write(now: Self.began)
        #expect(machine.deadline == Self.began + .seconds(5))
        machine.read(hasProgress: true, now: Self.began + .seconds(4))
        #expect(machine.deadline == Self.began + .seconds(9))
        _ = machine.answered(now: Self.began + .seconds(8))
        #expect(machine.deadline == Self.began + .seconds(15))
        try machine.waited(now: Self.began + .seconds(14))
        #expect(throws: LinkFailure.self) { try machine.waited(now: Self.began + .seconds(15)) }
        _ = machine.answered(now: Self.began + .seconds(15))
        try machine.waited(now: Self.began + .seconds(99))
    }

    @Test func `the log tells the first failure in a row, and the end of the row`() {
        var machine = machine(.connecting)
        #expect(machine.failed(Self.broken, now: Self.now, fraction: 0).isFirst)
        for _ in 0..<2 {
            #expect(machine.next(now: Self.now) == .connect, "also without callers")
            #expect(!machine.failed(Self.broken, now: Self.now, fraction: 0).isFirst)
        }
        #expect(machine.next(now: Self.now) == .connect && machine.connected(at: 0))
        _ = machine.broke(Self.broken, written: 0)
        #expect(machine.next(now: Self.now) == .sleep(nil), "a connection that broke is made again for the next caller")
    }
}
