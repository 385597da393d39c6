import Foundation
import HTTPAPI
import Logging
import Settings
import TestSupport
import Testing

@testable import Commands

/// App Attest in the configuration of a gateway.
@Suite struct AttestationRootTests {
    private func attestation(_ more: [String: String]) throws -> AppAttest? {
        let environment = [
            "LAMPLIGHTER_APP_KEY": "shop", "LAMPLIGHTER_APP_SECRET": "the-app-secret-0001",
            "LAMPLIGHTER_APP_MASTER_SECRET": "the-master-secret-01", "LAMPLIGHTER_APP_BUNDLE_ID": "com.example.shop",
        ].merging(more) { $1 }
        let settings = try Settings.load(SettingsInput(flags: [:], environment: environment))
        return try ServeCommand.configuration(settings, .quiet).apps[0].attestation
    }

    @Test func `it is of Apple's root and the app's bundle, unless a test names others`() throws {
        #expect(try attestation([:]) == nil)
        let team = ["LAMPLIGHTER_APP_ATTESTATION_TEAM_ID": "ABCDE12345"]
        let plain = AppAttest(teamID: "ABCDE12345", bundleID: "com.example.shop", environment: .production)
        #expect(try attestation(team) == plain)
        let authority = try TestAuthority()
        let other = team.merging([
            "LAMPLIGHTER_APP_ATTESTATION_BUNDLE_ID": "com.example.shop.clip",
            "LAMPLIGHTER_APP_ATTESTATION_ENVIRONMENT": "development",
            "LAMPLIGHTER_APP_ATTESTATION_ROOT_FILE": authority.caFile,
        ]) { $1 }
        let root = Array(try Data(contentsOf: URL(fileURLWithPath: authority.caFile)))
        #expect(
            try attestation(other)
                == AppAttest(
                    teamID: "ABCDE12345", bundleID: "com.example.shop.clip", environment: .development, root: root))
        let error = #expect(throws: SettingsError.self) {
            _ = try attestation(team.merging(["LAMPLIGHTER_APP_ATTESTATION_ROOT_FILE": "/nowhere.pem"]) { $1 })
        }
        #expect(error.map { "\($0)" }?.contains("attestation.root_file of app 'shop'") == true)
    }
}
