@testable import Settings

extension ReloadedSettingsTests {
    static let attestation: [(AppField, [AppField: String])] = [
        (.attestationTeamID, [.attestationTeamID: "TEAM123456"]),
        (.attestationBundleID, [.attestationBundleID: "com.example.clip", .attestationTeamID: "TEAM123456"]),
        (.attestationEnvironment, [.attestationEnvironment: "development", .attestationTeamID: "TEAM123456"]),
    ]
    /// `AttestationRootTests` sees its effect.
    static let attestationRoot = AppField.attestationRootFile
}
