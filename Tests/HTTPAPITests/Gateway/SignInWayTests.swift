import Answers
import LiveActivity
import Synchronization
import TestSupport
import Testing

@testable import Console
@testable import HTTPAPI

/// A way to sign in that is the tests' own: it lets everybody in, as the person whom the address names.
enum Door {
    static let path = "/console/sign-in/door"

    static func feature(_ scopes: Set<CredentialScope>, isOpen: @escaping @Sendable () -> Bool = { true })
        -> GatewayFeature
    {
        GatewayFeature(signInWay: { _ in
            SignInWay(
                pages: [
                    path: { console, request, _ in
                        let query = Form(request.query)
                        let person = ConsolePerson(
                            name: query["name"], subject: query["id"], groups: [], signedIn: request.now)
                        let identity = ConsoleIdentity(
                            app: try AppKey(GatewayFixture.key), credentialID: "door", proof: "door", person: person)
                        let (next, cookie) = try await console.enter(identity, request, next: query["next"])
                        return .redirect(next).with("Set-Cookie", cookie)
                    }
                ],
                link: { app, next in isOpen() ? ("the door", path + Form.query(["app": app, "next": next])) : nil },
                standing: { identity, _ in
                    guard identity.proof == "door", isOpen() else { return nil }
                    var identity = identity
                    identity.scopes = scopes
                    return identity
                })
        })
    }

    static func enter(_ gateway: GatewayFixture, _ name: String, id: String) async throws -> ConsoleBrowser {
        let query = Form.query(["name": name, "id": id, "next": "/console/names"])
        let reply = try await ConsoleBrowser(gateway).get(path + query)
        try #require(reply.status == 303 && reply.header("location") == "/console/names", "\(reply.text)")
        let cookie = try #require(reply.header("set-cookie"))
        return ConsoleBrowser(gateway, cookie: String(cookie.drop { $0 != "=" }.dropFirst().prefix { $0 != ";" }))
    }
}

/// A way to sign in that a feature adds.
@Suite struct SignInWayTests {
    @Test func `it has a button and a page, and a person has its rights as long as it says`() async throws {
        let isOpen = Mutex(true)
        try await GatewayFixture.run(configure: {
            $0.features.append(Door.feature([.read, .operate]) { isOpen.withLock(\.self) })
        }) { gateway in
            let (master, _) = try await ConsoleBrowser.start(gateway)
            let page = try await ConsoleBrowser(gateway).get("/console/sign-in?next=/console/names").text
            #expect(page.contains("Sign in with the door") && page.contains("\(Door.path)?next="), "\(page)")
            let anna = try await Door.enter(gateway, "anna@example.com", id: "user-7")
            let home = try await anna.get("/console").text
            #expect(home.contains("signed in with the account anna@example.com"), "\(home)")
            #expect(try await anna.get("/console/compose").status == 403)
            let form: KeyValuePairs = ["csrf": try await anna.formToken(), "to": "pause", "confirmed": "yes"]
            _ = try await anna.post("/console/pause", form)
            let log = try await master.get("/console/actions").text
            #expect(log.contains(#"title="id at the provider: user-7">anna@example.com (door)</td>"#), "\(log)")
            isOpen.withLock { $0 = false }
            #expect(try await anna.get("/console").status == 303)
            #expect(try await master.get("/console").status == 200, "a secret is not the way's")
            #expect(try await !ConsoleBrowser(gateway).get("/console/sign-in").text.contains("the door"))
        }
    }
}
