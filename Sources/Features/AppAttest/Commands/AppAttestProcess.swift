import HTTPAPI
import Settings

extension ProcessFeature {
    static let appAttest = ProcessFeature(
        app: { app, served in served.attestation = try app.attestation() },
        findings: { app, _ in
            guard let team = app[.attestationTeamID], team.utf8.count != 10 else { return [] }
            let path = AppField.attestationTeamID.path
            let remedy = "set it to the ten letters and digits of developer.apple.com/account"
            let text = "\(path) '\(team)' is no team id of Apple, so no device is attested"
            return [.warning("app \(app.key)", text, remedy)]
        })
}

extension AppSettings {
    /// The app's settings for App Attest. Nil: it is off.
    fileprivate func attestation() throws(SettingsError) -> AppAttest? {
        guard let teamID = self[.attestationTeamID] else { return nil }
        // `??` would lose the type of the error.
        let bundleID = if let own = self[.attestationBundleID] { own } else { try required(.bundleID) }
        let environment = self[.attestationEnvironment].flatMap(AppAttest.Environment.init) ?? .production
        guard let file = file(.attestationRootFile) else {
            return AppAttest(teamID: teamID, bundleID: bundleID, environment: environment)
        }
        try file.check(.certificate)
        let root = try file.bytes(limit: 1 << 20)
        return AppAttest(teamID: teamID, bundleID: bundleID, environment: environment, root: root)
    }
}
