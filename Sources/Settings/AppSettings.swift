public import LiveActivity
public import Store

/// The settings of one served app. Only the key is always set, because a gateway needs the secrets and a worker the
/// APNs credentials. Each reads its fields with `required`. Printing an app shows no secret.
public struct AppSettings: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    public let key: AppKey
    /// `apps[0]`, or empty for the app of the environment.
    let path: String
    let values: [AppField: String]
    /// Those beside the app's two secrets.
    public let credentials: [CredentialSettings]

    public subscript(field: AppField) -> String? { values[field] }

    public func required(_ field: AppField) throws(SettingsError) -> String {
        if let value = values[field] { return value }
        if path.isEmpty { throw .missing(key: field.environmentName, remedy: "it is \(field.summary)") }
        let remedy = "it is \(field.summary) (without 'apps:' in the file it would be \(field.environmentName))"
        throw .missing(key: "\(path).\(field.path)", remedy: remedy)
    }

    /// A shorter secret is accepted with a warning, because it can be guessed.
    public static let safeSecretBytes = 16

    /// The secrets that are shorter than `safeSecretBytes`.
    public var shortSecrets: [AppField] {
        [.secret, .masterSecret, .webhookSecret].filter {
            values[$0].map { $0.utf8.count < Self.safeSecretBytes } ?? false
        }
    }

    /// The events that the app's webhook gets. Empty: it has no webhook.
    public var webhookEvents: Set<OutgoingEvent.Kind> {
        guard values[.webhookURL] != nil else { return [] }
        return values[.webhookEvents].flatMap(AppField.events)
            ?? Set(OutgoingEvent.Kind.allCases).subtracting([.superseded, .test])
    }

    private static let sandboxOrigin = "https://api.sandbox.push.apple.com"

    /// The origin to which pushes go: `https://host[:port]`.
    public var apnsOrigin: String {
        if let url = values[.url] { return url }
        return values[.environment] == "sandbox" ? Self.sandboxOrigin : "https://api.push.apple.com"
    }

    /// The origin for tokens that `apnsOrigin` does not know. Nil if the app uses one environment only.
    public var otherOrigin: String? {
        values[.environment] == "both" ? values[.sandboxURL] ?? Self.sandboxOrigin : nil
    }

    /// The origin that manages broadcast channels. Nil if `apns.url` is set alone: Apple's host would be the wrong one.
    public var manageOrigin: String? {
        if let url = values[.manageURL] { return url }
        guard values[.url] == nil else { return nil }
        return values[.environment] == "sandbox"
            ? "https://api-manage-broadcast.sandbox.push.apple.com:2195"
            : "https://api-manage-broadcast.push.apple.com:2196"
    }

    public var description: String {
        let fields = AppField.allCases.compactMap { field in
            values[field].map { "\(field.path)=\(field.isSecret ? "‹set›" : $0)" }
        }
        return "app(\(fields.joined(separator: " ")))"
    }

    /// Makes `dump` and debuggers show the same as `description`.
    public var customMirror: Mirror { Mirror(self, children: ["fields": description]) }
}
