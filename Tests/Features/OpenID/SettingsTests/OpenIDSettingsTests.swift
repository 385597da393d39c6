import Answers
import HTTPAPI
import LiveActivity
import Settings
import Store
import Testing

/// The settings of sign-in through a provider.
@Suite struct OpenIDSettingsTests {
    @Test func `it is off, and a file or the environment switches it on`() throws {
        #expect(try load().gateway.openID == OpenIDOptions())
        let file = """
            console:
              oidc:
                issuer: https://id.example.com/realms/staff
                client_id: lamplighter
                client_secret: "a # secret"
                groups: |
                  operators = shop read,operate
                  editors = shop read,publish match-
                session: 1h
            """
        let options = try load(file: file).gateway.openID
        #expect(options.issuer == "https://id.example.com/realms/staff" && options.clientSecret == "a # secret")
        #expect(options.access.map(\.group) == ["operators", "editors"] && options.access[1].namePrefix == "match-")
        #expect(options.sessionLife == .seconds(3_600) && options.groupsClaim == "groups")
        #expect(options.scope == "openid email profile" && options.name == nil)
        let environment = [
            "LAMPLIGHTER_CONSOLE_OIDC_ISSUER": "http://127.0.0.1:9400", "LAMPLIGHTER_CONSOLE_OIDC_CLIENT_ID": "x",
            "LAMPLIGHTER_CONSOLE_OIDC_GROUPS": "a = shop read; b = news read",
        ]
        #expect(try load(environment: environment).gateway.openID.access.count == 2)
    }

    @Test(arguments: [
        ("issuer: http://id.example.com", "console.oidc.issuer"), ("issuer: id.example.com", "https://host"),
        ("issuer: https://a@b.example", "https://host"),
        ("issuer: https://id.example.com", "console.oidc.client_id is not set"),
        ("client_id: x", "console.oidc.issuer is not set"), ("groups: x = shop read", "console.oidc.issuer is not set"),
        ("groups: x", "GROUP = APP SCOPES"), ("groups: x = shop admin", "GROUP = APP SCOPES"),
        ("groups: x = shop read match-*", "GROUP = APP SCOPES"),
        ("scope: email", "openid and other words"), ("session: 13h", "a time from 60s to 43200s"),
        ("client_secret: ä", "printable ASCII"), ("client_secret: a #b", "what stands after ' #' is a comment"),
        ("group: x", "did you mean 'console.oidc.groups"), ("client_id: ä", "printable ASCII"),
        ("name: ''", "printable"),
    ])
    func `what cannot be meant is refused, with its place`(line: String, words: String) {
        let text = refusal(file: "console:\n  oidc:\n    \(line)\n")
        #expect(text.contains(words), "\(text)")
        #expect(!line.hasPrefix("client_secret") || !text.contains("ä"))
    }

    @Test(arguments: ["; ", "\\n"])
    func `groups of other apps are left out`(between: String) throws {
        let lines = ["editors = shop read", "tellers = bank read", "ops = shop read,operate match-"]
        let settings = try load(
            file: oneApp + """
                console:
                  oidc:
                    issuer: https://id.example.com
                    client_id: lamplighter
                    groups: "\(lines.joined(separator: between))"

                """)
        let shown = settings.shown(for: try AppKey("shop")).first { $0.name == "console.oidc.groups" }
        #expect(shown?.value == "editors = shop read; ops = shop read,operate match-")
    }
}
