public import LiveActivity

/// One served app. Only the key is always there: a gateway needs the secrets, a worker the APNs credentials, and each
/// asks for what it needs with `required`, which says how to set what is missing. Printing one shows no secret.
public struct AppSettings: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    public let key: AppKey
    /// `apps[0]`, or empty for the app of the environment.
    let place: String
    let values: [AppField: String]

    public subscript(field: AppField) -> String? { values[field] }

    public func required(_ field: AppField) throws(SettingsError) -> String {
        if let value = values[field] { return value }
        throw .missing(
            key: place.isEmpty ? field.environmentName : "\(place).\(field.path)",
            remedy: "it is \(field.summary)"
                + (place.isEmpty ? "" : " (without 'apps:' in the file it would be \(field.environmentName))"))
    }

    /// Shorter secrets are taken, with a warning: they can be guessed.
    public static let safeSecretBytes = 16

    /// The secrets that are shorter than that.
    public var shortSecrets: [AppField] {
        [.secret, .masterSecret].filter { values[$0].map { $0.utf8.count < Self.safeSecretBytes } ?? false }
    }

    private static let sandboxOrigin = "https://api.sandbox.push.apple.com"

    /// Where pushes go: `https://host[:port]`.
    public var apnsOrigin: String {
        if let url = values[.url] { return url }
        return values[.environment] == "sandbox" ? Self.sandboxOrigin : "https://api.push.apple.com"
    }

    /// Where tokens are tried that `apnsOrigin` does not know; nil when the app is for one environment.
    public var otherOrigin: String? {
        values[.environment] == "both" ? values[.sandboxURL] ?? Self.sandboxOrigin : nil
    }

    /// Where broadcast channels are managed: `https://host:port`. Nil with a server other than Apple's and no management beside
    /// it: Apple's is not meant then.
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

    /// `dump` and debuggers see what `description` shows.
    public var customMirror: Mirror { Mirror(self, children: ["fields": description]) }
}
