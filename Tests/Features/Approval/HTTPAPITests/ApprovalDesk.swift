import LiveActivity
import Redis
import StrictJSON
import TestSupport
import Testing
import Threads

@testable import HTTPAPI
@testable import Store

/// A gateway with two who propose and approve, and a feed that publishes alone.
struct ApprovalDesk: Sendable {
    let gateway: GatewayFixture
    let ann, bob, feed: String
    static let master = "\(GatewayFixture.key):\(GatewayFixture.masterSecret)"

    static func run(
        _ rule: ApprovalRule = .all, life: Duration = .seconds(3_600),
        _ body: (ApprovalDesk) async throws -> Void
    ) async throws {
        try await GatewayFixture.run(configure: {
            $0.apps[0].approvalRule = rule
            $0.approval.life = life
        }) { gateway in
            func user(_ id: String, _ more: String) async throws -> String {
                let secret = try await CredentialTests.create(gateway, #"{"id":"\#(id)",\#(more)}"#)
                return "\(GatewayFixture.key):\(secret)"
            }
            try await gateway.follow("match-1")
            try await body(
                ApprovalDesk(
                    gateway: gateway, ann: user("ann", #""scopes":["read","propose","approve"]"#),
                    bob: user("bob", #""scopes":["read","propose","approve"]"#),
                    feed: user("feed", #""scopes":["read","publish"]"#)))
        }
    }

    func send(
        _ method: String, _ path: String, _ body: String? = nil, _ user: String = master, key: String? = nil
    ) async throws -> Reply {
        try await gateway.send(
            method, path, body, user: user, headers: key.map { [("Idempotency-Key", $0)] } ?? [])
    }

    func proposal(_ id: String) async throws -> (state: String, request: String) {
        let reply = try await send("GET", "/api/proposals/\(id)")
        return (try reply.string("state"), try reply.string("request"))
    }

    func decide(_ word: String, _ id: String, _ user: String) async throws -> Reply {
        let request = try await proposal(id).request
        return try await send("POST", "/api/proposals/\(id)/\(word)", #"{"request":"\#(request)"}"#, user)
    }

    /// Asks for the end of a name.
    /// - Returns: the id of the proposal
    func ask(_ name: String = "match-1", _ user: String? = nil) async throws -> String {
        let reply = try await send("POST", "/api/push", Self.push("end", name), user ?? ann)
        try #require(reply.status == 202, "\(reply.text)")
        return try reply.string("held_id")
    }

    func edit(_ id: String, _ body: String, _ user: String, seen: String? = nil) async throws -> Reply {
        let request = if let seen { seen } else { try await proposal(id).request }
        return try await send("PUT", "/api/proposals/\(id)", #"{"request":"\#(request)","body":\#(body)}"#, user)
    }

    static func push(_ event: String, _ name: String = "match-1", more: String = "") -> String {
        publishText(activity: #"{"name":"\#(name)","event":"\#(event)","content_state":{"n":1}\#(more)}"#)
    }

    static func schedule(_ event: String, at time: String = "2026-11-21T19:00:00", _ name: String = "match-1") -> String
    {
        #"{"schedule":{"scheduled_time":"\#(time)"},"push":\#(push(event, name))}"#
    }

    func sent() async throws -> Int {
        try await send("GET", "/api/pushes").object.required("pushes").array().count
    }

    /// Runs what each gateway does beside its requests.
    func sweep(at now: Int64 = testNow) async throws {
        let parts = gateway.gateway.live.current.parts
        await ApprovalSweep.sweep(parts, try #require(parts.configuration.apps.first), now, .quiet)
    }
}
