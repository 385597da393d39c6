import LiveActivity
import StrictJSON
import Synchronization
import TestSupport
import Testing

@testable import Console
@testable import HTTPAPI
@testable import Store

/// The live parts of people who sign in through a provider.
extension ConsoleProviderTests {
    /// An open tab of a live part.
    private func tab(_ gateway: GatewayFixture, _ browser: ConsoleBrowser, _ path: String) throws -> Socket {
        let socket = try Socket(port: gateway.port)
        let cookie = "Cookie: lamplighter_console=\(browser.cookie ?? "")"
        socket.send("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(gateway.port)\r\n\(cookie)\r\n\r\n")
        return socket
    }

    private func event(_ socket: Socket) async -> String {
        await socket.read { $0.contains("data: ") && $0.contains("\n\n") }
    }

    @Test(arguments: [true, false])
    func `each person sees live what the own rights open, whoever came first`(isOperatorFirst: Bool) async throws {
        let access = "operators = \(GatewayFixture.key) read,operate; readers = \(GatewayFixture.key) read match-"
        // A look has Redis's clock, and a sign-in the clock of the test.
        try await run(access, { $0.sessionLife = .seconds(1_000_000_000) }) { gateway, provider in
            for name in ["match-1", "secret-1"] {
                try await gateway.follow(name)
                _ = try await gateway.publish(CredentialTests.update(name))
            }
            try await gateway.store.alarms.raise(try gateway.app, .expired, "secret-1 expired")
            func person(_ group: String) async throws -> ConsoleBrowser {
                provider.state.withLock {
                    $0.claims = ["email": .string("\(group)@example.com"), "sub": .string(group)]
                    $0.claims["groups"] = .array([.string(group)])
                }
                return try await signIn(gateway, provider).browser
            }
            let people = (all: try await person("operators"), some: try await person("readers"))
            let push = try #require(
                try await people.some.get("/console").text.split(separator: "/console/pushes/").last?.prefix(36))
            for part in ["/console/live", "/console/strip/live", "/console/pushes/\(push)/live"] {
                let first = try tab(gateway, isOperatorFirst ? people.all : people.some, part)
                let firstText = await event(first)
                let second = try tab(gateway, isOperatorFirst ? people.some : people.all, part)
                let secondText = await event(second)
                let (all, some) = isOperatorFirst ? (firstText, secondText) : (secondText, firstText)
                #expect(!some.contains("secret-1") && !some.contains("Queue"), "\(part): \(some)")
                #expect(all.contains("secret-1") == !part.contains("pushes"), "\(part): \(all)")
                #expect(all.contains("Queue") == (part == "/console/live"), "\(part): \(all)")
            }
            // The first one leaves. The other one's part goes on.
            let stays = isOperatorFirst ? people.some : people.all
            let open = try tab(gateway, stays, "/console/live")
            _ = await event(open)
            let leaves = isOperatorFirst ? people.all : people.some
            _ = try await leaves.post("/console/sign-out", ["csrf": try await leaves.formToken()])
            let next = try await gateway.publish(CredentialTests.update("match-1")).strings("push_ids")[0]
            let later = await open.read { $0.contains(next) || $0.contains("event: unknown") }
            #expect(later.contains(next), "\(later)")
        }
    }

    @Test func `a person is counted alone by the limit of credentials, a page as one request`() async throws {
        let access = "editors = \(GatewayFixture.key) read"
        try await run(access, configure: { $0.requestsPerCredential = 1 }) { gateway, provider in
            let (_, anna) = try await signIn(gateway, provider)
            provider.state.withLock { $0.claims["sub"] = "user-8" }
            let (_, ben) = try await signIn(gateway, provider)
            var refused = try await anna.get("/console/names")
            for _ in 0..<100 where refused.status == 200 { refused = try await anna.get("/console/names") }
            #expect(refused.status == 429 && refused.header("retry-after") == "1", "\(refused.text)")
            #expect(refused.text.contains("the account anna@example.com"), "\(refused.text)")
            // Home makes many calls of the API.
            #expect(try await ben.get("/console").status == 200)
        }
    }
}
