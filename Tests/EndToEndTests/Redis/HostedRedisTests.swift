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

    @Test func `a server that takes TLS alone is named as such`() async throws {
        let encrypted = try await EncryptedRedis.start()
        let deployment = try await Deployment.start()
        let plain = try await deployment.run(
            "doctor", environment: ["LAMPLIGHTER_REDIS_URL": "redis://127.0.0.1:\(encrypted.port)"])
        #expect(plain.code == 69 && plain.out.contains("begins with rediss"), "\(plain.out)")
        encrypted.server.stop()
    }
}
