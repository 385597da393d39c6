import Delivery
import LiveActivity
import Redis
import Store
import Synchronization
import TestSupport
import Testing

@testable import Fanout

/// The pace that a platform wants of all workers, in a real Redis.
@Suite struct PacedTransportTests {
    private static let rest = Duration.seconds(600)

    private func turns() async throws -> (DeliveryRates, RedisServer) {
        let server = try await RedisServer.start()
        let store = Store(redis: RedisClient(url: server.url, scripts: Store.scripts, logger: .quiet))
        return (store.deliveryRates, server)
    }

    private let account = PlatformAccount("shop-1", .android)

    @Test func `a rate rises from a sixtieth, for all workers together`() async throws {
        let (turns, server) = try await turns()
        defer { server.stop() }
        let pace = PlatformPace(perSecond: 10_000, rise: .seconds(60), rest: Self.rest)
        let atOnce = DeliveryTurn(tokens: 250, wait: .zero)
        #expect(try await turns.take(account, tokens: 5_000, pace, horizon: .zero) == atOnce)
        let early = try await turns.take(account, tokens: 5_000, pace, horizon: .zero)
        // 250 messages at a sixtieth of 10,000 a second.
        #expect(!early.isTaken && early.wait > .milliseconds(1_000) && early.wait <= .milliseconds(1_500))
        // Take the turns of the first minute, and then look at the rate.
        var last: Duration = .zero
        while last < .seconds(61) {
            let turn = try await turns.take(account, tokens: 5_000, pace, horizon: .seconds(120))
            #expect(turn.isTaken)
            last = turn.wait
        }
        var next = DeliveryTurn.unknown
        for _ in 0..<20 {
            next = try await turns.take(account, tokens: 5_000, pace, horizon: .seconds(120))
            #expect(next.tokens == 1_000, "a tenth of a second at the whole rate")
        }
        #expect((.milliseconds(1_000)...(.milliseconds(2_001))).contains(next.wait - last))
        // Another account, and one of the same name at another platform, have turns of their own.
        for other in [PlatformAccount("bank-1", .android), PlatformAccount(account.name, .ios)] {
            #expect(try await turns.take(other, tokens: 250, pace, horizon: .zero) == atOnce)
        }
    }

    @Test func `after a rest the rate rises again, and not after a shorter pause`() async throws {
        let (turns, server) = try await turns()
        defer { server.stop() }
        // The rise is over at once, so the second turn is at the whole rate unless the rate rises again.
        func wait(rest: Duration, after tokens: Int = 1) async throws -> Duration {
            let pace = PlatformPace(perSecond: 1_000, rise: .milliseconds(100), rest: rest)
            while try await !turns.take(account, tokens: tokens, pace, horizon: .zero).isTaken {}
            return try await turns.take(account, tokens: 1, pace, horizon: .zero).wait
        }
        _ = try await wait(rest: Self.rest)
        try await Task.sleep(for: .milliseconds(150))
        #expect(try await wait(rest: Self.rest) <= .milliseconds(2))
        try await Task.sleep(for: .milliseconds(150))
        // 250 tokens take a quarter of a second at the whole rate, and fifteen at a sixtieth.
        #expect(try await wait(rest: .milliseconds(100), after: 250) > .seconds(1))
    }

    @Test func `a slice that has waited long has a part of the rate to itself, also while it rises`() async throws {
        let (turns, server) = try await turns()
        defer { server.stop() }
        let pace = PlatformPace(perSecond: 10_000, rise: .seconds(60), rest: Self.rest)
        // Small pushes have filled the queue of turns.
        _ = try await turns.take(account, tokens: 1_000, pace, horizon: .zero)
        let hour = Duration.seconds(3_600)
        #expect(try await !turns.take(account, tokens: 1_000, pace, horizon: .zero).isTaken)
        #expect(try await turns.take(account, tokens: 1_000, pace, horizon: .zero, reserve: hour).isTaken)
        // The reserve is a quarter of the rate as it is now, a fortieth of the whole: four seconds for a turn of 250.
        // At a quarter of the whole rate it would be 0.1.
        try await Task.sleep(for: .milliseconds(500))
        #expect(try await !turns.take(account, tokens: 1, pace, horizon: .zero, reserve: hour).isTaken)
    }

    /// Accepts everything, and keeps the sizes of the pages.
    private final class Counting: PushTransport {
        private let sizes = Mutex<[Int]>([])
        var pages: [Int] { sizes.withLock { $0 } }
        var requestTimeout: Duration { .seconds(1) }
        func close() async {}
        func send(
            _ page: TokenPage, _ push: PreparedPush, while permission: any SendPermission, _ handover: Handover?
        ) async -> PageOutcome {
            sizes.withLock { $0.append(page.count) }
            return PageOutcome(accepted: page.count)
        }
    }

    private struct Permission: SendPermission { let holds: Bool }

    private func page(_ count: Int) -> TokenPage {
        var page = TokenPage()
        for number in 0..<count {
            page.append(
                channel: [1], token: [0x74, UInt8(truncatingIfNeeded: number)], registeredAt: 0, platform: .android)
        }
        return page
    }

    @Test func `a page goes out in slices, each in its turn, and none without permission`() async throws {
        let (turns, server) = try await turns()
        defer { server.stop() }
        let inner = Counting()
        let pace = PlatformPace(perSecond: 4_000, rise: .zero, rest: Self.rest)
        let transport = PacedTransport(inner, account, pace, turns)
        let push = PreparedPush(path: .shared("/"), fields: [], body: .shared([]))
        #expect(await transport.send(page(1_000), push).accepted == 1_000)
        #expect(inner.pages.sorted() == [200, 400, 400], "a tenth of a second each")
        #expect(await transport.send(page(3), push).accepted == 3)
        let refused = await transport.send(page(600), push, while: Permission(holds: false))
        #expect(refused.accepted == 0 && refused.exceptions.map(\.index) == Array(0..<600))
        #expect(inner.pages.count == 4)
    }

    /// Wants a pause of half a minute.
    private struct Busy: PushTransport {
        var requestTimeout: Duration { .seconds(1) }
        func close() async {}
        func send(
            _ page: TokenPage, _ push: PreparedPush, while permission: any SendPermission, _ handover: Handover?
        ) async -> PageOutcome {
            let busy = Rejection(status: 429, reason: "QUOTA_EXCEEDED", verdict: .pauseApp, retryAfter: 30)
            return PageOutcome(all: page, .rejected(busy))
        }
    }

    @Test(arguments: [0, 60]) func `a pause that the platform wants holds all that send with the account`(
        rise: Int
    ) async throws {
        let (turns, server) = try await turns()
        defer { server.stop() }
        let pace = PlatformPace(perSecond: 10_000, rise: .seconds(rise), rest: Self.rest)
        let push = PreparedPush(path: .shared("/"), fields: [], body: .shared([]))
        #expect(await PacedTransport(Busy(), account, pace, turns).send(page(1), push).accepted == 0)
        // Another worker, or another app of the project.
        let inner = Counting()
        let outcome = await PacedTransport(inner, account, pace, turns).send(page(300), push)
        guard case .rejected(let rejection)? = outcome.exceptions.first?.outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(rejection.verdict == .pauseApp && (1...30).contains(rejection.retryAfter ?? 0), "\(rejection)")
        #expect(outcome.exceptions.count == 300 && inner.pages.isEmpty && !rejection.wasSent)
        let bank = PlatformAccount("bank-1", .android)
        #expect(await PacedTransport(inner, bank, pace, turns).send(page(1), push).accepted == 1)
        // It ends by itself.
        try await turns.hold(bank, pace, for: .milliseconds(300))
        #expect(try await turns.take(bank, tokens: 1, pace, horizon: .zero).isHeld)
        try await eventually("the pause is over") {
            try await turns.take(bank, tokens: 1, pace, horizon: .zero).isTaken
        }
    }

    @Test func `two apps of one project share its turns`() async throws {
        let (turns, server) = try await turns()
        defer { server.stop() }
        // A worker has such a transport for each app that uses FCM.
        func transport(_ project: String) -> any PushTransport {
            FCMSender(project: project, transport: Counting(), turns: turns, now: { 0 }).transport
        }
        let push = PreparedPush(path: .shared("/"), fields: [], body: .shared([]))
        let (shop, outlet, bank) = (transport("shop-1"), transport("shop-1"), transport("bank-1"))
        let start = ContinuousClock.now
        #expect(await shop.send(page(250), push).accepted == 250)
        // At the beginning of the rise these 250 take a second and a half.
        #expect(await outlet.send(page(1), push).accepted == 1)
        #expect(ContinuousClock.now - start > .seconds(1))
        #expect(await bank.send(page(250), push).accepted == 250)
        let other = PlatformAccount("bank-1", .android)
        #expect(try await !turns.take(other, tokens: 1, FCMSender.pace, horizon: .zero).isTaken)
    }

    /// Ends when it is told to, or after a minute.
    private final class Limited: SendPermission {
        private let end = Mutex(ContinuousClock.now + .seconds(60))
        var holds: Bool { end.withLock { ContinuousClock.now < $0 } }
        func finish() { end.withLock { $0 = ContinuousClock.now } }
    }

    @Test(.timeLimit(.minutes(3))) func `a hundred small senders do not starve a page of a thousand`() async throws {
        let (turns, server) = try await turns()
        defer { server.stop() }
        let inner = Counting()
        // The small pages take more than two seconds together, so their turns reach as far as they may. The rise is
        // over at once.
        let pace = PlatformPace(perSecond: 2_000, rise: .milliseconds(1), rest: Self.rest)
        let transport = PacedTransport(inner, account, pace, turns)
        let push = PreparedPush(path: .shared("/"), fields: [], body: .shared([]))
        let permission = Limited()
        try await withThrowingDiscardingTaskGroup { group in
            for _ in 0..<100 {
                group.addTask {
                    while permission.holds { _ = await transport.send(page(50), push, while: permission) }
                }
            }
            try await eventually("the small pages are under way") { inner.pages.count > 20 }
            #expect(await transport.send(page(1_000), push, while: permission).accepted == 1_000)
            permission.finish()
        }
        let small = inner.pages.filter { $0 == 50 }
        #expect(small.count > 200, "the small ones have most of the rate")
    }
}
