import FoundationEssentials
import LiveActivity
import Settings
import Webhooks

extension Webhook {
    /// The webhook of an app; nil if it has none. A file with the secret is read here.
    init?(_ app: AppSettings, _ settings: Settings) throws(SettingsError) {
        guard let url = app[.webhookURL] else { return nil }
        self.init(url: url, secret: try Self.secret(app))
        caFile = app[.webhookCAFile]
        allowsPrivateAddresses = app[.webhookAllowsPrivate] == "true"
        timeout = settings.webhookTimeout
    }

    private static func secret(_ app: AppSettings) throws(SettingsError) -> String {
        guard let path = app[.webhookSecretFile] else { return try app.required(.webhookSecret) }
        let name = "\(AppField.webhookSecretFile.path) of app '\(app.key)'"
        guard let data = FileManager.default.contents(atPath: path) else {
            throw .missing(key: name, remedy: "\(path) does not exist or cannot be read by this user")
        }
        let text = String(decoding: data, as: UTF8.self).trimmed
        if let rule = AppField.webhookSecret.violation(text) {
            throw .missing(key: name, remedy: "\(path) must hold \(rule)")
        }
        return text
    }
}
