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
        guard let file = app.file(.webhookSecretFile) else { return try app.required(.webhookSecret) }
        return try file.secret { AppField.webhookSecret.violation($0) }
    }
}
