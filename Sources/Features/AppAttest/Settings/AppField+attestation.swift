/// App Attest. The team switches it on.
extension AppField {
    static let appAttest: [AppField] = [
        attestationTeamID, attestationBundleID, attestationEnvironment, attestationRootFile,
    ]

    public static let attestationTeamID = AppField(
        "attestation.team_id", .appleID, of: .gateway,
        summary: "Apple's team id (App ID prefix) of the app, whose copies get tokens by App Attest"
    ).live()
    public static let attestationBundleID = AppField(
        "attestation.bundle_id", .bundleID, of: .gateway, summary: "the bundle id in App Attest, if it is not bundle_id"
    ).live().needs([attestationTeamID])
    public static let attestationEnvironment = AppField(
        "attestation.environment", .words("production", "development"), of: .gateway,
        summary: "production, or development for builds from Xcode"
    ).live().needs([attestationTeamID])
    public static let attestationRootFile = file(
        "attestation.root_file", orText: false, of: .gateway,
        summary: "a PEM root in place of Apple's, for tests alone"
    ).live().needs([attestationTeamID])
}
