import Foundation
import Synchronization
import TestSupport
import Testing

@testable import LamplighterKit

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// LamplighterKit with a gateway, a worker and the simulator.
@Suite("LamplighterKit") struct KitStoryTests {
    @Test func `a phone that was offline for an hour gets the newest state once it is online`() async throws {
        let phone = try await Phone.start()
        let worker = try await phone.deployment.worker("one")
        defer { worker.kill() }
        phone.weather.withLock { $0.isOffline = true }
        phone.weather.withLock { $0.ahead = -3_600_000 }
        await phone.follow("E0", token: 1)
        await phone.follow("E0", token: 2)
        for minute in [15, 30, 45] { try await phone.publish(minute) }
        phone.weather.withLock { $0.ahead = 0 }
        #expect(phone.weather.withLock { $0.requests } > 0 && phone.weather.withLock { $0.answers } == 0)
        phone.weather.withLock { $0.isOffline = false }
        await phone.kit.retryNow()
        try await phone.expectShown(45, token: 2)
        try await phone.publish(46)
        try await phone.expectShown(46, token: 2)
        #expect(try await phone.deployment.received(Deployment.token(1))["accepted"] as? Int ?? 0 == 0)
    }

    @Test func `a gateway that answers 503 for a minute gets few requests, and then each report`() async throws {
        let phone = try await Phone.start(speed: 20)
        await phone.follow("E0", token: 1)
        await phone.kit.outbox.sent()
        // A full Redis: registrations are a 503 with Retry-After.
        _ = try phone.deployment.redis.command("CONFIG SET maxmemory 1")
        let before = phone.weather.withLock { $0.requests }
        for number in 2..<50 { await phone.follow("E0", token: number) }
        await phone.kit.outbox.start("MatchAttributes", token: phone.bytes(99))
        try await Task.sleep(for: .seconds(3))
        let tries = phone.weather.withLock { $0.requests } - before
        #expect((1...20).contains(tries), "\(tries) requests in a minute of the phone's")
        _ = try phone.deployment.redis.command("CONFIG SET maxmemory 0")
        await phone.kit.outbox.sent()
        #expect(try await phone.token() == Deployment.token(49))
        let types = try await phone.deployment.call(
            "GET", "\(phone.deployment.gatewayURL)/api/start-tokens/MatchAttributes")
        #expect(types.json["tokens"] as? Int == 1)
    }

    @Test(arguments: [0, 31_536_000_000, -31_536_000_000, -1_900_000_000_000] as [Int64])
    func `a clock that jumps loses no token`(_ first: Int64) async throws {
        let phone = try await Phone.start()
        var number = 0
        for ahead in [first, 0, -3_600_000, 86_400_000, -31_536_000_000, 0] {
            phone.weather.withLock { $0.ahead = ahead }
            number += 1
            await phone.follow("E0", token: number)
            await phone.kit.outbox.sent()
            #expect(try await phone.token() == Deployment.token(number), "\(ahead) ms ahead")
        }
        await phone.kit.outbox.unfollow("E0")
        await phone.kit.outbox.sent()
        #expect(try await phone.token() == nil)
        #expect(phone.problems.withLock { $0 }.isEmpty)
    }

    @Test(arguments: [-32_400_000, -630_000_000_000] as [Int64])
    func `a phone whose clock is slow all the time ends its card`(_ ahead: Int64) async throws {
        let phone = try await Phone.start()
        phone.weather.withLock { $0.ahead = ahead }
        for number in 1...2 {
            await phone.follow("E0", token: number)
            await phone.kit.outbox.sent()
            #expect(try await phone.token() == Deployment.token(number))
        }
        await phone.kit.outbox.unfollow("E0")
        await phone.kit.outbox.sent()
        #expect(try await phone.token() == nil)
        #expect(phone.problems.withLock { $0 }.isEmpty)
    }

    @Test func `a token that is over is replaced`() async throws {
        let calls = Mutex(0)
        let phone = try await Phone.start { deployment, channel in
            let count = calls.withLock { calls in
                calls += 1
                return calls
            }
            // As one of yesterday, which the phone has taken for good.
            return .token(count == 1 ? "h.e30.s" : try await Phone.access(deployment, channel))
        }
        await phone.follow("E0", token: 1)
        await phone.kit.outbox.sent()
        #expect(try await phone.token() == Deployment.token(1))
        #expect(calls.withLock { $0 } == 2)
    }

    @Test func `a card's end leaves the next card of the name, in whatever order it arrives`() async throws {
        let phone = try await Phone.start()
        await phone.follow("E0", token: 1)
        await phone.kit.outbox.sent()
        phone.weather.withLock { $0.isOffline = true }
        await phone.follow("E1", token: 2)
        await phone.kit.outbox.unfollow("E0")
        phone.weather.withLock { $0.isOffline = false }
        await phone.kit.retryNow()
        await phone.kit.outbox.sent()
        #expect(try await phone.token() == Deployment.token(2))
    }

    @Test func `a backend's signature opens this channel, and receipts and a broadcast channel with it`() async throws {
        let phone = try await Phone.start(["LAMPLIGHTER_DEFAULTS_RECEIPTS": "true"]) { deployment, channel in
            let time = String(Date().ISO8601Format().dropLast())
            let signed = try await deployment.shell(
                "printf %s 'shop:\(channel):n1:\(time)' | openssl dgst -sha256 -hmac shop-secret -binary | base64")
            return .signature(
                nonce: "n1", timestamp: time, signature: signed.out.trimmingCharacters(in: .whitespacesAndNewlines))
        }
        let worker = try await phone.deployment.worker("one")
        defer { worker.kill() }
        await phone.follow("E0", token: 1)
        await phone.kit.outbox.device("18.1")
        await phone.kit.outbox.sent()
        try await phone.publish(7)
        let shown = try await phone.deployment.received(Deployment.token(1))
        let mark = try #require((shown["content_state"] as? [String: Any])?["lamplighter"] as? String)
        for _ in 0..<2 { await phone.kit.outbox.receive(Receipt(push: mark, event: .shown)) }
        await phone.kit.outbox.sent()
        let told = try await phone.deployment.run("history", "match-42", "--limit", "1", "--json").out
        #expect(told.contains(#""shown":1"#), "\(told)")
        #expect(try await phone.kit.broadcastChannel(of: "match-42") == nil)
        let made = try await phone.deployment.broadcast("PUT", "match-42", "{}")
        #expect(try await phone.kit.broadcastChannel(of: "match-42") == made.channel && made.channel != nil)
        #expect(phone.problems.withLock { $0 }.isEmpty)
    }

    @Test func `an app and its extension send each report once`() async throws {
        let phone = try await Phone.start()
        let directory = phone.deployment.directory + "/shared"
        let channel = try FileInstallStore(directory: URL(fileURLWithPath: directory)).idOrStore(
            UUID().uuidString.lowercased())
        let token = try await Phone.access(phone.deployment, channel)
        let probe = URL(fileURLWithPath: Program.path).deletingLastPathComponent().path + "/KitProbe"
        let apps = try (0..<2).map { number in
            try Program(
                [probe, directory, phone.deployment.gatewayURL, token, "\(number * 40)", "40", "80"],
                directory: phone.deployment.directory, environment: ["KIT_PROBE_OWNER": "\(number)"])
        }
        for app in apps { #expect(await app.end()?.code == 0) }
        let state = try OutboxFile(directory: URL(fileURLWithPath: directory)).change(install: channel) { _ in }
        #expect(state.starts.count == 80 && state.entries.isEmpty)
        for number in 0..<80 {
            let type = try await phone.deployment.call(
                "GET", "\(phone.deployment.gatewayURL)/api/start-tokens/Type\(number)")
            #expect(type.json["tokens"] as? Int == 1, "\(number)")
        }
        let metrics = try await phone.deployment.call("GET", "\(phone.deployment.gatewayURL)/metrics", user: nil).text
        let sent = metrics.matches(of: /lamplighter_registrations_total\{[^}]*\} (\d+)/).compactMap { Int($0.1) }
        #expect(sent.reduce(0, +) <= 82, "\(sent)")
    }
}

/// A phone with the kit, whose network and clock a test disturbs.
private struct Phone {
    final class Weather: Sendable {
        struct State {
            var isOffline = false
            /// Milliseconds by which the device's clock is ahead.
            var ahead: Int64 = 0
            var requests = 0
            var answers = 0
        }
        private let state = Mutex(State())
        func withLock<R: Sendable>(_ body: (inout State) -> sending R) -> R { state.withLock { body(&$0) } }
    }

    final class Problems: Sendable {
        private let all = Mutex<[LamplighterError]>([])
        func withLock<R: Sendable>(_ body: (inout [LamplighterError]) -> sending R) -> R {
            all.withLock { body(&$0) }
        }
    }

    let deployment: Deployment
    let kit: Lamplighter
    let weather: Weather
    let problems: Problems

    /// - Parameter speed: the kit's pauses are shorter by this factor.
    static func start(
        _ environment: [String: String] = [:], speed: Double = 1,
        access: (@Sendable (Deployment, String) async throws -> ChannelAccess)? = nil
    ) async throws -> Phone {
        let deployment = try await Deployment.start(environment: environment)
        let (weather, problems, real) = (Weather(), Problems(), KitClock.device)
        let clock = KitClock(
            now: { real.now() + weather.withLock { $0.ahead } }, uptime: { real.uptime() * speed },
            sleep: { await real.sleep($0 / speed) }, random: { $0.lowerBound })
        let session = Gateway.session()
        let gateway = Gateway(
            url: URL(string: deployment.gatewayURL)!, appKey: "shop", clock: clock,
            transport: { request in
                weather.withLock { $0.requests += 1 }
                if weather.withLock({ $0.isOffline }) { throw URLError(.notConnectedToInternet) }
                let answer = try await session(request)
                if answer.1.statusCode < 500 { weather.withLock { $0.answers += 1 } }
                return answer
            },
            authorize: { channel in
                if let access { return try await access(deployment, channel) }
                return .token(try await Self.access(deployment, channel))
            })
        let directory = URL(fileURLWithPath: deployment.directory + "/kit")
        let kit = Lamplighter(
            gateway, directory: directory, store: FileInstallStore(directory: directory), clock: clock, owner: "app",
            tell: { problem in if problem.kind != .delayed { problems.withLock { $0.append(problem) } } })
        return Phone(deployment: deployment, kit: kit, weather: weather, problems: problems)
    }

    /// The backend's call.
    static func access(_ deployment: Deployment, _ channel: String) async throws -> String {
        let answer = try await deployment.shell(
            "curl -sf -u shop:shop-secret -H 'X-UA-Channel-ID: \(channel)' '\(deployment.gatewayURL)/api/auth/device?only=reports'"
        )
        let json = try JSONSerialization.jsonObject(with: Data(answer.out.utf8)) as? [String: Any]
        return try #require(json?["token"] as? String)
    }

    func bytes(_ number: Int) -> Data {
        let hex = Array(Deployment.token(number))
        return Data(stride(from: 0, to: hex.count, by: 2).map { UInt8(String(hex[$0...$0 + 1]), radix: 16)! })
    }

    func follow(_ activity: String, token: Int) async {
        await kit.outbox.follow(
            activity, name: "match-42", of: "MatchAttributes", token: bytes(token), hasFrequentPushes: true)
    }

    /// The token that the gateway has for the phone.
    func token() async throws -> String? {
        let list = try await deployment.call("GET", "\(deployment.gatewayURL)/api/activities/match-42/channels").json
        let channel = try await kit.installID
        return (list["channels"] as? [[String: Any]])?.first { $0["channel"] as? String == channel }?["token"]
            as? String
    }

    func publish(_ minute: Int) async throws {
        _ = try await deployment.post(
            "match-42", #""all""#,
            #""event":"update","content_state":{"home":0,"away":0,"clock":"\#(minute):00"}"#)
    }

    func expectShown(_ minute: Int, token: Int) async throws {
        try await eventually("minute \(minute) is shown") {
            let shown = try await deployment.received(Deployment.token(token))["content_state"] as? [String: Any]
            return shown?["clock"] as? String == "\(minute):00"
        }
    }
}
