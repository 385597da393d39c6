import HTTPAPI
import LiveActivity
import Settings

extension ProcessFeature {
    static let openID = ProcessFeature(check: { configuration in
        let known = configuration.apps.map(\.key)
        guard let entry = configuration.openID.access.first(where: { !known.contains($0.app) }) else { return }
        let reason = "there is no app '\(entry.app)'; the apps are \(known.map(\.rawValue).joined(separator: ", "))"
        throw SettingsError.unusable(key: "console.oidc.groups", reason: reason)
    })
}
