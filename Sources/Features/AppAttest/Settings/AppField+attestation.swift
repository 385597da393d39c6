/// App Attest. The team switches it on.
extension AppField {
    static let appAttest: [AppField] = [
        attestationTeamID, attestationBundleID, attestationEnvironment, attestationRootFile,
    ]

    public static let attestationTeamID = AppField(
        "attestation.team_id", "Apple's team id (App ID prefix) of the app, whose copies get tokens by App Attest",
        .appleID, .gateway, live: always)
    public static let attestationBundleID = AppField(
        "attestation.bundle_id", "the bundle id in App Attest, if it is not bundle_id", .bundleID, .gateway,
        live: always
    ).needs([attestationTeamID])
    public static let attestationEnvironment = AppField(
        "attestation.environment", "production, or development for builds from Xcode",
        .words("production", "development"), .gateway, live: always
    ).needs([attestationTeamID])
    public static let attestationRootFile = file(
        "attestation.root_file", "a PEM root in place of Apple's, for tests alone", orText: false, of: .gateway,
        live: always
    ).needs([attestationTeamID])
}
