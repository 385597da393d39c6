import Foundation
import TestSupport
import Testing

/// Tests failures of Redis during a push, without loss of data. An accepted push is delivered when Redis works again.
@Suite("Redis outages")
struct RedisOutageTests {
    private static let body = """
        {"audience":"all","device_types":["ios"],
         "notification":{"ios":{"live_activity":{"name":"other","event":"update","content_state":{}}}}}
        """

    /// Starts a push, disturbs Redis while it is being sent, and expects the push to be complete in the end.
    private func disturbed(_ disturb: (Deployment, _ push: String) async throws -> Void) async throws {
        let deployment = try await Deployment.start(simulator: Deployment.slow)
        let worker = try await deployment.worker("one", Deployment.slowly)
        #expect(try await deployment.importChannels(Deployment.count, name: "match-42").code == 0)
        let push = try await deployment.publish()
        try await deployment.waitUntilUnderWay(push)
        try await disturb(deployment, push)
        try await eventually("the gateway answers again") {
            try await deployment.call("GET", "\(deployment.gatewayURL)/readyz", user: nil).status == 200
        }
        try await deployment.expectComplete(push)
        worker.signal(SIGTERM)
        #expect(await worker.end()?.code == 0)
    }

    private func expectRefusal(_ deployment: Deployment) async throws {
        try await eventually("a publish is refused for the moment") {
            try await deployment.call("POST", "\(deployment.gatewayURL)/api/push", body: Self.body).status == 503
        }
    }

    @Test func `suspended for longer than a lease: the push goes on from its last settled page`() async throws {
        try await disturbed { deployment, _ in
            deployment.redis.signal(SIGSTOP)
            // Each attempt waits for its time limit, and two of them last longer than the lease.
            try await expectRefusal(deployment)
            try await expectRefusal(deployment)
            deployment.redis.signal(SIGCONT)
        }
    }

    @Test func `connections cut and scripts forgotten, again and again: nobody notices`() async throws {
        try await disturbed { deployment, push in
            var cuts = 0
            try await eventually("the push is over", within: .seconds(120)) {
                _ = try deployment.redis.command("SCRIPT FLUSH")
                _ = try deployment.redis.command("CLIENT KILL TYPE normal")
                cuts += 1
                let ledger = try await deployment.call("GET", "\(deployment.gatewayURL)/api/push/\(push)")
                return ledger.status == 200 && ledger.json["state"] as? String == "done"
            }
            #expect(cuts > 1)
        }
    }

    @Test func `full: publishes and registrations are refused, and what was accepted is kept`() async throws {
        try await disturbed { deployment, _ in
            #expect(try deployment.redis.command("CONFIG SET maxmemory 1") == "+OK")
            try await expectRefusal(deployment)
            let path = "/api/activities/other/channels/\(Deployment.channel(1))"
            let registration = #"{"token":"\#(Deployment.token(1))"}"#
            #expect(
                try await deployment.call("PUT", deployment.gatewayURL + path, body: registration).status == 503)
            #expect(try deployment.redis.command("CONFIG SET maxmemory 0") == "+OK")
            let other = try await deployment.call("GET", "\(deployment.gatewayURL)/api/activities/other")
            #expect(other.status == 404, "half-written: \(other.text)")
        }
    }

    @Test func `a primary that becomes a read-only replica, and a primary again`() async throws {
        try await disturbed { deployment, _ in
            // Redis becomes the replica of a primary that does not exist. It still serves reads.
            #expect(try deployment.redis.command("REPLICAOF 127.0.0.1 9").hasPrefix("+OK"))
            try await expectRefusal(deployment)
            try await eventually("a read is refused too, because it would get old") {
                try await deployment.call("GET", "\(deployment.gatewayURL)/api/pushes").status == 503
            }
            #expect(try deployment.redis.command("REPLICAOF NO ONE") == "+OK")
        }
    }
}
