import APNsSimulator
import Delivery
import FCMClient
import FCMWire
import Foundation
import Lanes
import LiveActivity
import Redis
import Store
import TestSupport
import Testing

@testable import Fanout

/// The one access token of all workers of a project, in a real Redis. Times are epoch seconds.
@Suite struct FleetAccessTokenTests {
    private static let start = 1_795_284_000

    private func share() async throws -> (FleetAccessTokens, RedisServer) {
        let server = try await RedisServer.start()
        let store = Store(redis: RedisClient(url: server.url, scripts: Store.scripts, logger: .quiet))
        return (FleetAccessTokens(store, project: "shop-1"), server)
    }

    private func token(_ number: Int, endsAt: Int = start + 3_599) -> AccessToken {
        AccessToken(secret: "ya29.\(number)", endsAt: endsAt)
    }

    @Test func `a worker uses the token of another one until five minutes before its end`() async throws {
        let (share, server) = try await share()
        defer { server.stop() }
        #expect(await share.agree(key: "k", candidate: nil, refused: nil, now: Self.start) == .none)
        #expect(await share.agree(key: "k", candidate: token(1), refused: nil, now: Self.start) == .use(token(1)))
        let late = Self.start + 3_298
        #expect(await share.agree(key: "k", candidate: token(2), refused: nil, now: late) == .use(token(1)))
        let next = token(3, endsAt: late + 3_600)
        #expect(await share.agree(key: "k", candidate: nil, refused: nil, now: late + 1) == .none)
        #expect(await share.agree(key: "k", candidate: next, refused: nil, now: late + 1) == .use(next))
        #expect(await share.agree(key: "other", candidate: nil, refused: nil, now: late + 1) == .none)
    }

    @Test func `two apps of one project have one token, and another project has its own`() async throws {
        let server = try await RedisServer.start()
        defer { server.stop() }
        func share(_ project: String) -> FleetAccessTokens {
            let store = Store(redis: RedisClient(url: server.url, scripts: Store.scripts, logger: .quiet))
            return FleetAccessTokens(store, project: project)
        }
        let (shop, outlet, bank) = (share("shop-1"), share("shop-1"), share("bank-1"))
        #expect(await shop.agree(key: "k", candidate: token(1), refused: nil, now: Self.start) == .use(token(1)))
        #expect(await outlet.agree(key: "k", candidate: token(2), refused: nil, now: Self.start) == .use(token(1)))
        #expect(await outlet.agree(key: "l", candidate: nil, refused: nil, now: Self.start) == .none)
        #expect(await bank.agree(key: "k", candidate: nil, refused: nil, now: Self.start) == .none)
    }

    @Test func `a refused token is replaced once for all workers`() async throws {
        let (share, server) = try await share()
        defer { server.stop() }
        _ = await share.agree(key: "k", candidate: token(1), refused: nil, now: Self.start)
        let now = Self.start + 60
        let second = token(2, endsAt: now + 3_599)
        #expect(await share.agree(key: "k", candidate: second, refused: token(1), now: now) == .use(second))
        let third = token(3, endsAt: now + 3_599)
        #expect(await share.agree(key: "k", candidate: third, refused: token(1), now: now) == .use(second))
        #expect(await share.agree(key: "k", candidate: third, refused: second, now: now + 1) == .none)
        let later = now + AccessToken.leastAfterRefusal
        #expect(await share.agree(key: "k", candidate: third, refused: second, now: later) == .use(third))
    }

    @Test func `without Redis each worker gets its own`() async throws {
        let (share, server) = try await share()
        server.stop()
        #expect(await share.agree(key: "k", candidate: token(1), refused: nil, now: Self.start) == .unavailable)
    }

    @Test func `two workers send with one access token, and replace a refused one once`() async throws {
        let server = try await RedisServer.start()
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        var configuration = SimulatorConfiguration(certificateDirectory: directory.path("fcm"))
        configuration.managePort = nil
        configuration.fcm = FCMConfiguration()
        let simulator = try await APNsSimulator.start(configuration, logger: .quiet)
        let result: Result<Void, any Error>
        do { result = .success(try await send(through: simulator, server)) } catch { result = .failure(error) }
        await simulator.stop()
        try result.get()
    }

    private func send(through simulator: APNsSimulator, _ server: RedisServer) async throws {
        let json = Array(try Data(contentsOf: URL(fileURLWithPath: try #require(simulator.serviceAccountFile))))
        let account = try ServiceAccount(json: json)
        let workers = try (0..<2).map { _ in
            let store = Store(redis: RedisClient(url: server.url, scripts: Store.scripts, logger: .quiet))
            var client = FCMClientConfiguration(
                origin: try #require(simulator.fcmURL), accounts: LiveServiceAccount(account), caFile: simulator.caFile,
                requestTimeout: .seconds(60), share: FleetAccessTokens(store, project: account.projectID))
            client.app = "shop"
            return try LaneTransport(.nghttp2, configuration: client, logger: .quiet)
        }
        func push(_ number: Int) throws -> PreparedPush {
            FCMMessage.render(
                FCMContent(
                    pushID: .random(), name: try ActivityName("match-1"), event: .update,
                    timestamp: 1_795_284_000 + number, contentState: RawJSON(checked: "{}"), timeToLive: 900),
                project: account.projectID)
        }
        var page = TokenPage()
        for number in 0..<50 {
            let address = try AndroidAddress(.token, "token-\(number)")
            page.append(
                channel: ChannelID.random().stored, token: address.stored, registeredAt: 0, platform: .android)
        }
        for worker in workers { #expect(await worker.send(page, try push(1)).accepted == 50) }
        #expect(simulator.fcmSnapshot().tokenRequests == 1)
        var faults = Faults()
        let next = Int(Date().timeIntervalSince1970) + 1
        faults.expireIssuedBefore = next
        try simulator.setFCMFaults(faults)
        try await eventually("a new token is of the next second") { Int(Date().timeIntervalSince1970) >= next }
        for worker in workers { #expect(await worker.send(page, try push(2)).accepted == 50) }
        #expect(simulator.fcmSnapshot().tokenRequests == 2)
        for worker in workers { await worker.close() }
    }
}
