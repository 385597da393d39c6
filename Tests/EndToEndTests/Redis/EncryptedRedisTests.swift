import Foundation
import TestSupport
import Testing

/// Tests a whole deployment with a Redis that uses TLS and asks for certificates.
@Suite("Redis through TLS")
struct EncryptedRedisTests {
    @Test func `a push through a gateway and a worker, a Redis that is killed meanwhile, and what doctor says`()
        async throws
    {
        let redis = try await EncryptedRedis.start(asksForCertificate: true, append: true)
        let client = try redis.authority.issue("client")
        let deployment = try await Deployment.start(
            simulator: Deployment.slow,
            environment: [
                "LAMPLIGHTER_REDIS_URL": "rediss://localhost:\(redis.port)/1",
                "LAMPLIGHTER_REDIS_CA_FILE": redis.authority.caFile,
                "LAMPLIGHTER_REDIS_CERT_FILE": client.certificateFile, "LAMPLIGHTER_REDIS_KEY_FILE": client.keyFile,
            ])
        let worker = try await deployment.worker("one", Deployment.slowly)
        #expect(try await deployment.importChannels(Deployment.count, name: "match-42").code == 0)
        let push = try await deployment.publish()
        try await deployment.waitUntilUnderWay(push)
        redis.server.signal(SIGKILL)
        try await redis.server.restart()
        try await eventually("the gateway answers again") {
            try await deployment.call("GET", "\(deployment.gatewayURL)/readyz", user: nil).status == 200
        }
        try await deployment.expectComplete(push)
        let doctor = try await deployment.run("doctor")
        #expect(doctor.out.contains("rediss://localhost:\(redis.port)/1, through TLS 1.3"), "\(doctor.out)")
        try await misconfigured(deployment, redis)
        worker.signal(SIGTERM)
        #expect(await worker.end()?.code == 0)
    }

    /// Checks that a wrong setting is reported at once, with the exit code for a configuration error.
    private func misconfigured(_ deployment: Deployment, _ redis: EncryptedRedis) async throws {
        for (change, words) in [
            (["LAMPLIGHTER_REDIS_CA_FILE": ""], "redis.ca_file names the PEM file"),
            (["LAMPLIGHTER_REDIS_CERT_FILE": "", "LAMPLIGHTER_REDIS_KEY_FILE": ""], "set redis.cert_file"),
            (["LAMPLIGHTER_REDIS_KEY_FILE": ""], "redis.key_file is not set"),
            (["LAMPLIGHTER_REDIS_KEY_FILE": redis.authority.caFile], "and no private key"),
            (["LAMPLIGHTER_REDIS_URL": "redis://localhost:\(redis.port)"], "must begin with rediss"),
        ] {
            let status = try await deployment.run("status", environment: change)
            #expect(status.code == 78 && status.err.contains(words), "\(status.code) \(status.err)")
        }
    }
}
