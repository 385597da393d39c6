import Curl
import Foundation
import Synchronization
import TestSupport
import Testing

/// The procedure of docs/second-site.md: site B has a replica of site A's Redis, and processes that wait for its
/// promotion. The judge is the simulator's record, which neither site writes.
@Suite("SecondSite")
struct SecondSiteTests {
    /// The tokens of the push in whose middle site A dies. bin/nightly takes 50,000.
    private static let count = ProcessInfo.processInfo.environment["LAMPLIGHTER_TEST_SITE"].flatMap(Int.init) ?? 8_000
    /// Names with one follower each, which get one push after the other.
    private static let names = 20
    /// A worker has four parts with four pages each, and a page of whole buckets may hold one bucket of 128 more.
    private static let page = 300
    private static let inFlight = 4 * 4 * (page + 128)
    private static let faster = Deployment.slowly.merging(
        ["LAMPLIGHTER_WORKER_STREAMS": "400", "LAMPLIGHTER_WORKER_PAGE": "\(page)"]) { _, own in own }

    /// Both sites. Site A is `deployment`.
    private struct Sites {
        let a: RedisServer
        let b: RedisServer
        let deployment: Deployment
        let gatewayB: Program
        let workerA: Program
        let workerB: Program

        static func start(waitReplicas: Int) async throws -> Sites {
            let a = try await RedisServer.start(append: true, tcp: true)
            let b = try await RedisServer.start(
                append: true, tcp: true, extra: ["--replicaof", "127.0.0.1", "\(a.port ?? 0)"])
            let deployment = try await Deployment.start(
                simulator: Deployment.slow + ["--order-member", "n"],
                environment: [
                    "LAMPLIGHTER_REDIS_URL": "\(a.tcpURL)", "LAMPLIGHTER_REDIS_WAIT_REPLICAS": "\(waitReplicas)",
                    "LAMPLIGHTER_REDIS_WAIT_TIMEOUT": "1s",
                ])
            // Site B has no replica of its own when it is promoted.
            let environment = deployment.environment.merging(
                ["LAMPLIGHTER_REDIS_URL": "\(b.tcpURL)", "LAMPLIGHTER_REDIS_WAIT_REPLICAS": "0"]) { $1 }
            func program(_ words: String...) throws -> Program {
                try Program(
                    [Program.path] + words, directory: deployment.directory,
                    environment: environment.merging(faster) { $1 })
            }
            let sites = Sites(
                a: a, b: b, deployment: deployment, gatewayB: try program("serve", "--port", "0"),
                workerA: try await deployment.worker("a", faster), workerB: try program("work", "--name", "b"))
            try await eventually("site B has the data") {
                try a.command("WAIT 1 1000") == ":1"
            }
            return sites
        }

        /// Both gateways say that they wait, neither takes a request at site B, and the worker does nothing.
        func expectWaiting() async throws {
            for program in [gatewayB, workerB] {
                try await program.waitForLog("waiting for Redis")
                #expect(
                    program.err.contains("this is a replica") && !program.err.contains("url=http"), "\(program.err)")
            }
        }

        func killA() async {
            for program in [deployment.gateway, workerA] { program.kill() }
            a.signal(SIGKILL)
        }

        /// Makes site B the primary, and returns the URL of its gateway.
        func promoteB() async throws -> String {
            #expect(try b.command("REPLICAOF NO ONE") == "+OK")
            try await gatewayB.waitForLog("listening")
            try await workerB.waitForLog("ready for work")
            return gatewayB.err.firstMatch(of: /listening.*url=(http\S+)/).map { String($0.1) } ?? ""
        }

        func stop() {
            for program in [gatewayB, workerA, workerB] { program.kill() }
            for server in [a, b] { server.stop() }
        }
    }

    /// Publishes one number to one name. The key makes a repetition the same push.
    private static func publish(_ number: Int, to name: String, at gateway: String) async -> Int? {
        await answer(number, to: name, at: gateway)?.status
    }

    private static func answer(
        _ number: Int, to name: String, at gateway: String
    ) async -> (status: Int, push: String)? {
        let body = """
            {"audience":"all","device_types":["ios"],
             "notification":{"ios":{"live_activity":
               {"name":"\(name)","event":"update","content_state":{"n":\(number)}}}}}
            """
        let headers = [
            ("Content-Type", "application/json"), ("Idempotency-Key", "\(name)/\(number)"),
            ("Authorization", "Basic " + Data("shop:shop-master".utf8).base64EncodedString()),
        ]
        let request = HTTPRequest(
            "POST", gateway + "/api/push", headers: headers, body: .bytes(Array(body.utf8)), timeout: .seconds(10))
        guard let response = try? await HTTPClient().send(request) else { return nil }
        let json = (try? JSONSerialization.jsonObject(with: Data(response.body))) as? [String: Any] ?? [:]
        return (response.status, (json["push_ids"] as? [String])?.first ?? "")
    }

    private final class Count: Sendable { let value = Atomic(0) }

    /// The pushes of a publisher that goes through the names, one number after the other.
    private struct Published: Sendable {
        var acknowledged: [(name: String, number: Int, push: String)] = []
        var refused: [(name: String, number: Int)] = []

        /// Publishes until a call gets no answer. `count` is told how many were acknowledged.
        static func untilDown(_ gateway: String, count: Count) async -> Published {
            var published = Published()
            for number in 1... {
                let name = "order-\(number % names)"
                let answer = await answer(number, to: name, at: gateway)
                switch answer?.status {
                case 202?:
                    published.acknowledged.append((name, number, answer?.push ?? ""))
                    count.value.add(1, ordering: .relaxed)
                case 503?: published.refused.append((name, number))
                default:
                    published.refused.append((name, number))
                    return published
                }
            }
            return published
        }
    }

    private static func follow(_ deployment: Deployment) async throws {
        for number in 0..<names {
            let done = try await deployment.run(
                "track", "order-\(number)", Deployment.channel(9_000_000 + number),
                Deployment.token(9_000_000 + number))
            #expect(done.code == 0, "\(done.err)")
        }
    }

    /// The acknowledged pushes of which the name's follower got neither the number nor a newer one.
    private static func missing(_ published: Published, _ deployment: Deployment) async throws -> [String] {
        var newest: [String: Int] = [:]
        for number in 0..<names {
            newest["order-\(number)"] =
                try await deployment.received(Deployment.token(9_000_000 + number))["newest"] as? Int ?? 0
        }
        // A newer number takes the place of an older one.
        return published.acknowledged.filter { newest[$0.name, default: 0] < $0.number }.map {
            "\($0.name)/\($0.number)"
        }
    }

    @Test(arguments: [1, 0])
    func `site A dies in mid-push: site B goes on, and what replicas confirmed is there`(waitReplicas: Int) async throws
    {
        let sites = try await Sites.start(waitReplicas: waitReplicas)
        defer { sites.stop() }
        let deployment = sites.deployment
        try await sites.expectWaiting()
        #expect(try await deployment.importChannels(Self.count, name: "match-42").code == 0)
        try await Self.follow(deployment)
        // Registrations are not asked for: they are there once the replica has caught up.
        #expect(try sites.a.command("WAIT 1 10000") == ":1")
        let push = try await deployment.publish()
        let gateway = deployment.gatewayURL
        let count = Count()
        async let publisher = Published.untilDown(gateway, count: count)
        try await deployment.waitUntilUnderWay(push, of: Self.count)
        try await eventually("each name has a push") { count.value.load(ordering: .relaxed) >= Self.names }
        let before = try await deployment.record()["accepted_tokens"] as? Int ?? 0
        #expect(before < Self.count * 9 / 10, "too fast to be disturbed")
        let began = ContinuousClock.now
        await sites.killA()
        let published = await publisher
        let there = try await sites.promoteB()
        let away = ContinuousClock.now - began
        // A publisher repeats what got no 202, with the same keys, at the other site.
        for one in published.refused {
            #expect(await Self.publish(one.number, to: one.name, at: there) == 202)
        }
        let url = ["LAMPLIGHTER_REDIS_URL": "\(sites.b.tcpURL)", "LAMPLIGHTER_GATEWAY_URL": there]
        let output = try await deployment.run(["push", push, "--wait", "--json"], environment: url)
        let ledger = try Ledger(output.out)
        #expect(output.code == 0 && ledger.state == "done" && ledger.addsUp, "\(output.out) \(output.err)")
        #expect(ledger["targets"] == Self.count)
        // A 404 is a push that site B never had.
        for one in published.acknowledged {
            var state = ""
            try await eventually("\(one) is final, not \(state)", within: .seconds(120)) {
                let answer = try await deployment.call("GET", "\(there)/api/push/\(one.push)")
                state = answer.json["state"] as? String ?? "status \(answer.status)"
                return answer.status == 404 || ["done", "superseded"].contains(state)
            }
        }
        let missing = try await Self.missing(published, deployment)
        let record = try await deployment.record()
        #expect(record["backwards"] as? Int == 0)
        let reached = record["accepted_tokens"] as? Int ?? 0
        #expect(ledger["delivered"] + Self.names >= reached && reached > Self.count / 2)
        let twice = record["duplicates"] as? Int ?? -1
        // The worker's open pages, and as many that were settled while the replica had not heard of it.
        #expect((0...2 * Self.inFlight).contains(twice))
        if waitReplicas > 0 { #expect(missing.isEmpty, "acknowledged under wait, and lost: \(missing)") }
        print(
            "second site, wait_replicas \(waitReplicas): \(before) tokens were reached when site A died; "
                + "site B took over after \(away); of "
                + "\(published.acknowledged.count) acknowledged pushes \(missing.count) are lost; "
                + "\(twice) of \(Self.count) tokens were sent to twice, at most \(2 * Self.inFlight)")
    }

    @Test func `the link is cut before site A dies: with wait a 503, without it the loss is what came since the cut`()
        async throws
    {
        for waitReplicas in [1, 0] {
            let sites = try await Sites.start(waitReplicas: waitReplicas)
            defer { sites.stop() }
            let deployment = sites.deployment
            try await Self.follow(deployment)
            #expect(try sites.a.command("WAIT 1 10000") == ":1")
            // Site B no longer hears from site A, and stays a replica.
            #expect(try sites.b.command("REPLICAOF 127.0.0.1 9").hasPrefix("+OK"))
            try await eventually("site A has no replica") { try sites.a.command("WAIT 1 10") == ":0" }
            // Site A's worker may be faster than its end, so it stops first.
            sites.workerA.kill()
            var published = Published()
            for number in 1...Self.names {
                let name = "order-\(number % Self.names)"
                let answer = await Self.answer(number, to: name, at: deployment.gatewayURL)
                #expect(answer?.status == (waitReplicas > 0 ? 503 : 202))
                if answer?.status == 202 { published.acknowledged.append((name, number, answer?.push ?? "")) }
            }
            await sites.killA()
            let there = try await sites.promoteB()
            #expect(await Self.publish(1_000, to: "order-0", at: there) == 202)
            try await eventually("site B sends") {
                try await deployment.received(Deployment.token(9_000_000))["newest"] as? Int == 1_000
            }
            let missing = try await Self.missing(published, deployment)
            // The push to order-0 is newer than the one that is lost.
            #expect(missing.count == (waitReplicas > 0 ? 0 : Self.names - 1))
            print(
                "second site, link cut, wait_replicas \(waitReplicas): \(published.acknowledged.count) acknowledged, "
                    + "\(missing.count) lost")
        }
    }

    @Test func `site A comes back as a replica, and takes over again without a loss`() async throws {
        let sites = try await Sites.start(waitReplicas: 1)
        defer { sites.stop() }
        let deployment = sites.deployment
        try await Self.follow(deployment)
        await sites.killA()
        let there = try await sites.promoteB()
        #expect(await Self.publish(1, to: "order-1", at: there) == 202)
        try await sites.a.restart()
        #expect(try sites.a.command("REPLICAOF 127.0.0.1 \(sites.b.port ?? 0)") == "+OK")
        let gateway = try Program(
            [Program.path, "serve", "--port", "0"], directory: deployment.directory,
            environment: deployment.environment.merging(["LAMPLIGHTER_REDIS_WAIT_REPLICAS": "0"]) { $1 })
        defer { gateway.kill() }
        try await gateway.waitForLog("waiting for Redis")
        try await eventually("site A has the data") { try sites.b.command("WAIT 1 1000") == ":1" }
        #expect(await Self.publish(2, to: "order-1", at: there) == 202)
        #expect(try sites.b.command("FAILOVER TO 127.0.0.1 \(sites.a.port ?? 0) TIMEOUT 10000") == "+OK")
        try await gateway.waitForLog("listening")
        let back = gateway.err.firstMatch(of: /listening.*url=(http\S+)/).map { String($0.1) } ?? ""
        // Site B's gateway says that its Redis is a replica now, and writes nothing.
        try await eventually("site B refuses") { await Self.publish(3, to: "order-1", at: there) == 503 }
        #expect(await Self.publish(3, to: "order-1", at: back) == 202)
        let worker = try await deployment.worker("a-again", Self.faster)
        defer { worker.kill() }
        try await eventually("the newest push") {
            try await deployment.received(Deployment.token(9_000_001))["newest"] as? Int == 3
        }
        #expect(try await deployment.record()["backwards"] as? Int == 0)
    }
}
