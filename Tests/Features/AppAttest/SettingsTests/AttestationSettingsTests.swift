import Settings
import Testing

/// The settings of App Attest.
@Suite struct AttestationSettingsTests {
    @Test func `it is off, and a team switches it on`() throws {
        #expect(try load(file: oneApp).apps[0][.attestationTeamID] == nil)
        let file = "apps:\n  - key: shop\n    attestation: {team_id: ABCDE12345, environment: development}\n"
        let app = try load(file: file).apps[0]
        #expect(app[.attestationTeamID] == "ABCDE12345" && app[.attestationEnvironment] == "development")
    }

    @Test(arguments: [
        ("bundle_id: com.example.clip", "apps[0].attestation.team_id"),
        ("team_id: ABCDE12345, environment: sandbox", "production or development"),
        ("team_id: 'A B'", "letters and digits"),
    ]) func `what cannot be meant is refused, with the remedy`(_ fields: String, _ text: String) {
        let error = #expect(throws: (any Error).self) {
            _ = try load(file: "apps:\n  - key: shop\n    attestation: {\(fields)}\n")
        }
        #expect("\(error.map { "\($0)" } ?? "")".contains(text), "\(String(describing: error))")
    }
}
