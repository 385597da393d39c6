import APNsClient
import APNsWire
import Delivery
import LiveActivity
import Synchronization
import Testing

@testable import Fanout

@Suite struct AppCircuitsTests {
    let app = AppPlatform(try! AppKey("shop"), .ios)
    let halt = Halt(cause: .credentials, reason: "InvalidProviderToken")
    let refused = PushOutcome.rejected(Rejection(status: 403, reason: .known(.invalidProviderToken)))
    /// The same of another token's request.
    let unsent = Rejection(status: 403, reason: .known(.invalidProviderToken)).unsent

    @Test func `a circuit stays open longer each time and closes with the first page that passes`() {
        let circuits = AppCircuits()
        #expect(circuits.pause(of: app, now: 0) == nil)
        #expect(circuits.open(app, halt, now: 0))
        #expect(circuits.pause(of: app, now: 5_000) == .seconds(10))
        #expect(!circuits.open(app, halt, now: 5_000), "other pages of the same moment say nothing new")
        #expect(circuits.pause(of: app, now: 15_000) == nil)
        #expect(circuits.open(app, halt, now: 15_000))
        #expect(circuits.pause(of: app, now: 15_000) == .seconds(30))
        #expect(circuits.close(app) == halt)
        #expect(circuits.close(app) == nil)
        #expect(circuits.pause(of: app, now: 15_000) == nil)
    }

    @Test func `no circuit stays open for ever`() {
        #expect(AppCircuits.pause(halt, inARow: 1_000) == .seconds(60))
        #expect(AppCircuits.pause(Halt(cause: .unreachable, reason: "ConnectionFailed"), inARow: 1_000) == .seconds(30))
        // A busy platform says how long.
        let busy = Halt(cause: .busy, reason: "QUOTA_EXCEEDED", retryAfter: 7)
        #expect(AppCircuits.pause(busy, inARow: 1_000) == .seconds(7) && busy.cause.alarm == nil)
    }

    @Test func `a busy platform that names no time, or one that is over, gets a pause all the same`() {
        func pause(_ retryAfter: Int?) -> Duration {
            AppCircuits.pause(Halt(cause: .busy, reason: "QUOTA_EXCEEDED", retryAfter: retryAfter), inARow: 0)
        }
        // `Retry-After: 0`, and a date in the past, which counts as 0.
        #expect(pause(0) == .seconds(1))
        #expect(pause(1) == .seconds(1))
        #expect(pause(nil) == .seconds(60))
        let circuits = AppCircuits()
        #expect(circuits.open(app, Halt(cause: .busy, reason: "QUOTA_EXCEEDED", retryAfter: 0), now: 0))
        #expect(circuits.pause(of: app, now: 0) == .seconds(1), "work that is added again at once waits")
    }

    @Test func `one entry at a time passes a half open circuit`() {
        let circuits = AppCircuits()
        _ = circuits.open(app, halt, now: 0)
        #expect(circuits.pause(of: app, now: 15_000) == nil)
        #expect(circuits.pause(of: app, now: 15_000) == .seconds(2))
        #expect(circuits.pause(of: app, now: 17_000) == nil, "the one before had nothing to send")
        _ = circuits.close(app)
        #expect(circuits.pause(of: app, now: 17_000) == nil)
    }

    @Test func `a halt that another worker left behind begins half open`() async {
        let circuits = AppCircuits()
        circuits.inherit(app, halt)
        #expect(circuits.pause(of: app, now: 1) == nil)
        guard case .probe = await circuits.admit(app, now: 1) else {
            Issue.record("no probe")
            return
        }
        circuits.probed(app, hasPassed: true)
        #expect(circuits.close(app) == halt, "the alarm is taken back")
    }

    @Test func `while the circuit is open, pages are answered without being sent`() async {
        let circuits = AppCircuits()
        _ = circuits.open(app, halt, now: 0)
        guard case .refused(let outcome) = await circuits.admit(app, now: 1) else {
            Issue.record("admitted")
            return
        }
        #expect(outcome == unsent)
    }

    // MARK: The probe

    private func page(_ count: Int) -> TokenPage {
        var page = TokenPage()
        for number in 0..<count {
            page.append(channel: [1], token: [UInt8(number >> 8), UInt8(number & 0xFF)], registeredAt: 0)
        }
        return page
    }

    private let push = PreparedPush(
        bundleID: "com.example.shop", priority: .high, expiration: 0, payload: [])

    @Test func `wrong credentials cost one request however many pages wait`() async {
        let circuits = AppCircuits()
        let wire = ScriptedTransport { [refused] _, _ in refused }
        let transport = CircuitTransport(transport: wire, key: app, circuits: circuits)
        circuits.inherit(app, halt)
        wire.hold()
        var sent = 0
        await withTaskGroup { group in
            for _ in 0..<4 { group.addTask { await transport.send(page(1_000), push) } }
            await wire.holding(pages: 1)
            wire.letGo()
            for await outcome in group {
                #expect(outcome.exceptions.count == 1_000)
                sent += outcome.exceptions.count { $0.outcome == refused }
                #expect(outcome.exceptions.allSatisfy { $0.outcome == refused || $0.outcome == unsent })
            }
        }
        #expect(wire.total == 1 && sent == 1, "the other tokens wait, and have no answer of their own")
        #expect(circuits.open(app, halt, now: bootClock()), "the refusal says for how long")
    }

    @Test func `a probe that was not sent leaves the probe to the next page`() async {
        let circuits = AppCircuits()
        let wire = ScriptedTransport { [refused] _, _ in refused }
        let transport = CircuitTransport(transport: wire, key: app, circuits: circuits)
        circuits.inherit(app, halt)
        let cancelled = PushOutcome.unanswered(NoAnswer(.cancelled, mayHaveBeenDelivered: false))
        let rest = Array(repeating: unsent, count: 999)
        #expect(
            await transport.send(page(10), push, while: LostLease()) == PageOutcome(all: page(10), cancelled))
        #expect(await transport.send(page(1_000), push).exceptions.map(\.outcome) == [refused] + rest)
        #expect(wire.total == 1, "the next page sends one request too")
    }

    @Test func `a page that waits takes the turn of a probe that was not sent`() async {
        let circuits = AppCircuits()
        circuits.inherit(app, halt)
        guard case .probe = await circuits.admit(app, now: 1) else {
            Issue.record("no probe")
            return
        }
        let app = app
        async let second = circuits.admit(app, now: 1)
        // The second one either waits and is handed the turn, or finds the turn free.
        circuits.probeWasNotSent(app)
        guard case .probe = await second else {
            Issue.record("nobody has the turn")
            return
        }
    }

    private struct LostLease: SendPermission { var holds: Bool { false } }

    @Test func `the first answer that is no refusal lets all that waits go`() async {
        let circuits = AppCircuits()
        let dead = PushOutcome.rejected(Rejection(status: 410, reason: .known(.unregistered), timestamp: 5))
        let wire = ScriptedTransport { token, _ in token == [0, 0] || token == [0, 7] ? dead : .accepted }
        let transport = CircuitTransport(transport: wire, key: app, circuits: circuits)
        circuits.inherit(app, halt)
        wire.hold()
        await withTaskGroup { group in
            for _ in 0..<3 { group.addTask { await transport.send(page(100), push) } }
            await wire.holding(pages: 1)
            #expect(wire.held == 1, "the others wait for the probe")
            wire.letGo()
            let expected = PageOutcome(
                accepted: 98, exceptions: [.init(index: 0, outcome: dead), .init(index: 7, outcome: dead)])
            for await outcome in group { #expect(outcome == expected) }
        }
        #expect(circuits.pause(of: app, now: bootClock()) == nil)
    }
}
