import Foundation
import Redis
import TestSupport
import Testing

/// A hosted Redis that lacks commands or takes TLS alone. `doctor` and a process at its start name each limit.
@Suite struct HostedRedisTests {
    @Test func `without CONFIG and WAIT a push goes out, and the limits are named`() async throws {
        let server = try await RedisServer.start(
            extra: [
                "--rename-command", "CONFIG", "", "--rename-command", "WAIT", "", "--maxmemory-policy", "allkeys-lru",
            ])
        let deployment = try await Deployment.start(environment: ["LAMPLIGHTER_REDIS_URL": "\(server.url)"])
        let worker = try await deployment.worker("one")
        #expect(try await deployment.run("track", "order-1", Deployment.channel(1), Deployment.token(1)).code == 0)
        #expect(try await deployment.published("order-1", ["--content-state", "{}"])["delivered"] == 1)
        let doctor = try await deployment.run("doctor")
        #expect(doctor.code == 0 && doctor.out.contains("keeps no append-only file"), "\(doctor.out)")
        #expect(doctor.out.contains("allkeys-lru") && doctor.out.contains("policy to noeviction"), "\(doctor.out)")
        #expect(worker.err.contains("allkeys-lru"), "\(worker.err)")

        // Without WAIT nobody can say what the replicas have.
        let refused = try await deployment.run("doctor", environment: ["LAMPLIGHTER_REDIS_WAIT_REPLICAS": "1"])
        #expect(refused.code == 78 && refused.out.contains("WAIT is refused"), "\(refused.out)")
        let other = try await deployment.worker("two", ["LAMPLIGHTER_REDIS_WAIT_REPLICAS": "1"])
        #expect(other.err.contains("WAIT is refused"), "\(other.err)")
        for program in [worker, other] { program.signal(15) }
        server.stop()
    }

    /// The package lets everybody who reaches its Redis do no more than that.
    @Test func `config/redis.conf shows the rights of the documents`() throws {
        let line = try #require(Repository.text("config/redis.conf").firstMatch(of: /(?m)^# user default on (.*)$/)).1
        let commands = line.split(separator: " ").map(String.init).drop { $0 != "-@all" }
        #expect(try Self.rights().drop { $0 != "-@all" } == commands)
    }

    /// The line that operators copy.
    static func rights() throws -> [String] {
        let text = try Repository.text("docs/reference.md")
        let line = try #require(text.firstMatch(of: /(?m)^ACL SETUSER (.*)$/)).1
        return line.split(separator: " ").map(String.init)
    }

    /// A server with the user of that line, a client of its administrator, and the user's URL.
    private static func withDocumentedUser() async throws -> (server: RedisServer, admin: RedisClient, url: String) {
        let server = try await RedisServer.start(tcp: true)
        let admin = RedisClient(url: server.socketURL, logger: .quiet)
        let rights = try rights()
        let password = try #require(rights.first { $0.hasPrefix(">") }).dropFirst()
        try await admin.send(RedisCommand("ACL", (["SETUSER"] + rights).map { .string($0) }))
        return (server, admin, "redis://lamplighter:\(password)@127.0.0.1:\(try #require(server.port))")
    }

    @Test func `a user with the rights of the documents can do everything, and no more`() async throws {
        let (server, admin, url) = try await Self.withDocumentedUser()
        let deployment = try await Deployment.start(environment: ["LAMPLIGHTER_REDIS_URL": url])
        let worker = try await deployment.worker("one")
        #expect(try await deployment.run("track", "order-1", Deployment.channel(1), Deployment.token(1)).code == 0)
        #expect(try await deployment.published("order-1", ["--content-state", "{}"])["delivered"] == 1)
        for command in [
            ["doctor"], ["status"], ["activity"], ["history"], ["pause", "order-1"],
            ["resume", "order-1"], ["reload"], ["channel", Deployment.channel(1)], ["actions"],
            ["backup", "all.backup"], ["restore", "all.backup"], ["untrack", "order-1", Deployment.channel(1)],
        ] {
            let output = try await deployment.run(command)
            #expect(output.code == 0, "\(command): \(output.out)\(output.err)")
        }
        worker.signal(15)
        try await worker.waitForLog("drained")
        let log = try await admin.send(RedisCommand("ACL", ["LOG"])).array()
        #expect(log.isEmpty, "\(log)")
        // Nothing that an operator of Redis would miss.
        let user = RedisClient(url: try RedisURL(url), logger: .quiet)
        for refused in [RedisCommand("FLUSHALL"), RedisCommand("KEYS", ["*"]), RedisCommand("GET", ["other"])] {
            await #expect(throws: RedisError.self) { try await user.send(refused) }
        }
        for client in [admin, user] { await client.close() }
        server.stop()
    }

    @Test func `a right that is taken away while a worker runs is an alarm`() async throws {
        let (server, admin, url) = try await Self.withDocumentedUser()
        let deployment = try await Deployment.start(environment: ["LAMPLIGHTER_REDIS_URL": url])
        let worker = try await deployment.worker("one")
        try await admin.send(RedisCommand("ACL", ["SETUSER", "lamplighter", "-xautoclaim"]))
        try await eventually("the alarm") {
            let status = try await deployment.run("status").out
            return status.contains("redis_rights") && status.contains("one: Redis refused commands")
        }
        worker.signal(15)
        await admin.close()
        server.stop()
    }

    /// The gateway and the worker go on: an operator gives the right back, and nothing is lost.
    @Test(arguments: ["-multi", "-time", "-evalsha"])
    func `a right that is lost at run time is a 503 or an alarm, and never silence`(right: String) async throws {
        let (server, admin, url) = try await Self.withDocumentedUser()
        let deployment = try await Deployment.start(environment: ["LAMPLIGHTER_REDIS_URL": url])
        let worker = try await deployment.worker("one")
        #expect(try await deployment.run("track", "order", Deployment.channel(1), Deployment.token(1)).code == 0)
        try await admin.send(RedisCommand("ACL", ["SETUSER", "lamplighter", .string(right)]))
        // A push to everyone with few tokens needs no MULTI: push-begin brings the tokens.
        let audience = right == "-multi" ? ["--audience", "tag:gold"] : []
        let publish = try await deployment.run(["publish", "order", "--content-state", "{}"] + audience)
        if right != "-multi" {
            #expect(publish.code != 0 && publish.err.contains("lacks a right"), "\(publish.out)\(publish.err)")
        }
        try await eventually("the log names it") {
            worker.err.contains("Redis refused commands") || deployment.gateway.err.contains("Redis refused commands")
        }
        if right == "-multi" {
            try await eventually("the alarm") { try await deployment.run("status").out.contains("redis_rights") }
        }
        try await admin.send(RedisCommand("ACL", ["SETUSER", "lamplighter", .string("+" + right.dropFirst())]))
        #expect(try await deployment.published("order", ["--content-state", "{}"])["delivered"] == 1)
        worker.signal(15)
        await admin.close()
        server.stop()
    }

    @Test func `a server that takes TLS alone is named as such`() async throws {
        let encrypted = try await EncryptedRedis.start()
        let deployment = try await Deployment.start()
        let plain = try await deployment.run(
            "doctor", environment: ["LAMPLIGHTER_REDIS_URL": "redis://127.0.0.1:\(encrypted.port)"])
        #expect(plain.code == 69 && plain.out.contains("begins with rediss"), "\(plain.out)")
        encrypted.server.stop()
    }
}
