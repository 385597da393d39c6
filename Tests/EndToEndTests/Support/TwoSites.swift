import Curl
import Foundation
import Synchronization
import TestSupport
import Testing

/// The sites of docs/second-site.md, with one simulator. Its record, which neither site writes, is the judge.
struct TwoSites: Sendable {
    /// The tokens of the push in whose middle site A dies. bin/nightly takes 50,000.
    static let count = ProcessInfo.processInfo.environment["LAMPLIGHTER_TEST_SITE"].flatMap(Int.init) ?? 8_000
    /// Names with one follower each, which get one push after the other.
    static let names = 20
    /// A worker has four parts with four pages each, and a page of whole buckets may hold one bucket of 128 more.
    private static let page = 300
    private static let inFlight = 4 * 4 * (page + 128)
    static let faster = Deployment.slowly.merging(
        ["LAMPLIGHTER_WORKER_PAGE": "\(page)"]) { _, own in own }

    /// A primary of site A, and the server of site B that has its data.
    typealias Copy = (of: RedisServer, at: RedisServer)

    /// Gateway and worker of a site.
    struct Programs: Sendable {
        let gateway, worker: Program

        /// Neither has Redis, so the gateway takes no request.
        func expectWaiting() async throws {
            for program in [gateway, worker] {
                try await program.waitForLog("waiting for Redis")
                #expect(
                    program.err.contains("this is a replica") && !program.err.contains("url=http"), "\(program.err)")
            }
        }

        /// Returns the URL of the gateway, once both are at work.
        func atWork() async throws -> String {
            try await gateway.waitForLog("listening")
            try await worker.waitForLog("ready for work")
            return gateway.err.firstMatch(of: /listening.*url=(http\S+)/).map { String($0.1) } ?? ""
        }

        func kill() { for program in [gateway, worker] { program.kill() } }
    }

    /// Site A, and the simulator.
    let deployment: Deployment
    let workerA: Program
    let copies: [Copy]
    private let serversA: [RedisServer]
    private let urlB: String

    /// - Parameter others: servers of site A that are no primaries
    static func start(
        _ copies: [Copy], others: [RedisServer] = [], urls: (a: String, b: String), waitReplicas: Int
    ) async throws -> TwoSites {
        let deployment = try await Deployment.start(
            simulator: Deployment.slow(streams: 400) + ["--order-member", "n"],
            environment: [
                "LAMPLIGHTER_REDIS_URL": urls.a, "LAMPLIGHTER_REDIS_WAIT_REPLICAS": "\(waitReplicas)",
                "LAMPLIGHTER_REDIS_WAIT_TIMEOUT": "1s",
            ])
        let sites = TwoSites(
            deployment: deployment, workerA: try await deployment.worker("a", faster), copies: copies,
            serversA: copies.map(\.of) + others, urlB: urls.b)
        try await sites.waitForCopies()
        return sites
    }

    /// Starts the programs of site B, which has no replicas.
    func startB() throws -> Programs {
        func program(_ words: String...) throws -> Program {
            try Program(
                [Program.path] + words, directory: deployment.directory,
                environment: deployment.environment.merging(Self.faster) { $1 }.merging(
                    ["LAMPLIGHTER_REDIS_URL": urlB, "LAMPLIGHTER_REDIS_WAIT_REPLICAS": "0"]) { $1 })
        }
        return Programs(gateway: try program("serve", "--port", "0"), worker: try program("work", "--name", "b"))
    }

    /// Returns when site B has all that site A had at the call.
    func waitForCopies() async throws {
        func offset(_ server: RedisServer) async throws -> Int {
            try await server.fields("INFO", "replication")["master_repl_offset"].flatMap(Int.init) ?? 0
        }
        for copy in copies {
            let sent = try await offset(copy.of)
            try await eventually("site B has the data") { try await offset(copy.at) >= sent }
        }
    }

    func killA() {
        for program in [deployment.gateway, workerA] { program.kill() }
        for server in serversA { server.signal(SIGKILL) }
    }

    func stop() {
        workerA.kill()
        for server in serversA + copies.map(\.at) { server.stop() }
    }

    func follow() async throws {
        for number in 0..<Self.names {
            let done = try await deployment.run(
                "track", "order-\(number)", Deployment.channel(9_000_000 + number),
                Deployment.token(9_000_000 + number))
            #expect(done.code == 0, "\(done.err)")
        }
        try await waitForCopies()
    }

    /// The newest number that the follower of a name got.
    func newest(_ name: Int) async throws -> Int {
        try await deployment.received(Deployment.token(9_000_000 + name))["newest"] as? Int ?? 0
    }

    /// The acknowledged pushes of which the name's follower got neither the number nor a newer one.
    func missing(_ published: Published) async throws -> [String] {
        var newest: [String: Int] = [:]
        for number in 0..<Self.names { newest["order-\(number)"] = try await self.newest(number) }
        // A newer number takes the place of an older one.
        return published.acknowledged.filter { newest[$0.name, default: 0] < $0.number }.map {
            "\($0.name)/\($0.number)"
        }
    }

    /// The pushes of a publisher that goes through the names, one number after the other.
    struct Published: Sendable {
        var acknowledged: [(name: String, number: Int, push: String)] = []
        var refused: [(name: String, number: Int)] = []

        /// Publishes one number to one name. The key makes a repetition the same push.
        static func answer(
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

        static func status(_ number: Int, to name: String, at gateway: String) async -> Int? {
            await answer(number, to: name, at: gateway)?.status
        }

        final class Count: Sendable { let value = Atomic(0) }

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

    /// Kills site A in the middle of a push, and lets site B finish it.
    /// - Parameters:
    ///   - kind: of Redis, for the line that it prints
    ///   - isConfirmed: whether `redis.wait_replicas` counts site B, so that no acknowledged push may be missing
    ///   - takeOver: makes site B the primary
    /// - Returns: the URL of site B's gateway
    func dieInMidPush(
        _ kind: String, isConfirmed: Bool, takeOver: () async throws -> Programs
    ) async throws -> String {
        #expect(try await deployment.importChannels(Self.count, name: "match-42").code == 0)
        try await follow()
        let push = try await deployment.publish()
        let gateway = deployment.gatewayURL
        let count = Published.Count()
        async let publisher = Published.untilDown(gateway, count: count)
        try await deployment.waitUntilUnderWay(push, of: Self.count)
        try await eventually("each name has a push") { count.value.load(ordering: .relaxed) >= Self.names }
        let before = try await deployment.record()["accepted_tokens"] as? Int ?? 0
        #expect(before < Self.count * 9 / 10, "too fast to be disturbed")
        let began = ContinuousClock.now
        killA()
        let published = await publisher
        let there = try await takeOver().atWork()
        let away = ContinuousClock.now - began
        // A publisher repeats what got no 202, with the same keys, at the other site.
        for one in published.refused {
            #expect(await Published.status(one.number, to: one.name, at: there) == 202)
        }
        let url = ["LAMPLIGHTER_REDIS_URL": urlB, "LAMPLIGHTER_GATEWAY_URL": there]
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
        let missing = try await missing(published)
        let record = try await deployment.record()
        #expect(record["backwards"] as? Int == 0)
        let reached = record["accepted_tokens"] as? Int ?? 0
        #expect(ledger["delivered"] + Self.names >= reached && reached > Self.count / 2)
        let twice = record["duplicates"] as? Int ?? -1
        // The worker's open pages, and as many that were settled while the replica had not heard of it.
        #expect((0...2 * Self.inFlight).contains(twice))
        if isConfirmed { #expect(missing.isEmpty, "acknowledged under wait, and lost: \(missing)") }
        print(
            "second site, \(kind), \(isConfirmed ? "confirmed" : "not confirmed"): \(before) tokens were reached when "
                + "site A died; site B took over after \(away); of \(published.acknowledged.count) acknowledged pushes "
                + "\(missing.count) are lost; \(twice) of \(Self.count) tokens were sent to twice, at most "
                + "\(2 * Self.inFlight)")
        return there
    }
}
