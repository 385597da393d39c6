import HTTPAPI
import TestSupport
import Testing

@testable import Commands
@testable import Settings

extension ReloadedSettingsTests {
    static let openID = [
        ("console.oidc.issuer", "https://id.example.com"), ("console.oidc.client_id", "lamplighter"),
        ("console.oidc.groups", "editors = shop read"), ("console.oidc.client_secret", "a secret"),
        ("console.oidc.name", "Example"), ("console.oidc.scope", "openid groups"),
        ("console.oidc.groups_claim", "roles"), ("console.oidc.ca_file", "/ca.pem"),
    ]
}

@Suite struct OpenIDConfigurationTests {
    @Test func `a gateway does not start with rights in an app that it does not serve`() throws {
        let rights = ["console.oidc.groups": "editors = shop read; readers = shp read"]
        let flags = Dictionary(uniqueKeysWithValues: ReloadedSettingsTests.openID).merging(rights) { $1 }
        let app: [AppField: String] = [
            .key: "shop", .secret: "the-app-secret-0001", .masterSecret: "the-master-secret-01",
            .bundleID: "com.example.shop",
        ]
        let environment = Dictionary(uniqueKeysWithValues: app.map { ($0.key.environmentName, $0.value) })
        let settings = try Settings.load(SettingsInput(flags: flags, environment: environment))
        let refusal = #expect(throws: SettingsError.self) { try ServeCommand.configuration(settings, .quiet) }
        let text = "console.oidc.groups: there is no app 'shp'; the apps are shop"
        #expect(refusal?.description == text)
    }
}
