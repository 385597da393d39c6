public import LiveActivity

/// The settings of one served app. Only the key is always set, because a gateway needs the secrets and a worker the
/// APNs credentials. Each reads its fields with `required`. Printing an app shows no secret.
public struct AppSettings: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    public let key: AppKey
    /// `apps[0]`, or empty for the app of the environment.
    let path: String
    let values: [AppField: String]
    /// The credentials beside the app's two secrets.
    public let credentials: [CredentialSettings]

    public subscript(field: AppField) -> String? { values[field] }

    /// A field that is `true` or `false`. Nil if the app does not set it.
    func flag(_ field: AppField) -> Bool? { self[field].map { $0 == "true" } }

    public func required(_ field: AppField) throws(SettingsError) -> String {
        if let value = values[field] { return value }
        var remedy = "it is \(field.summary)"
        if let secondName = field.secondPath, let variable = field.secondEnvironmentName {
            let content = field.secondName == .file ? "a file with it" : "its text"
            remedy += "; or give \(content) in \(path.isEmpty ? variable : secondName)"
        }
        if path.isEmpty { throw .missing(key: field.environmentName, remedy: remedy) }
        remedy += " (without 'apps:' in the file it would be \(field.environmentName))"
        throw .missing(key: "\(path).\(field.path)", remedy: remedy)
    }

    /// A shorter secret is accepted with a warning, because it can be guessed.
    public static let safeSecretBytes = 16

    /// The secrets that are shorter than `safeSecretBytes`.
    public var shortSecrets: [AppField] {
        AppField.all.filter { field in
            field.rule.isGuessable && values[field].map { $0.utf8.count < Self.safeSecretBytes } ?? false
        }
    }

    private static let productionOrigin = "https://api.push.apple.com"
    private static let sandboxOrigin = "https://api.sandbox.push.apple.com"

    /// Whether the app sends through APNs. An app that has a service account of FCM may do without it.
    public var usesAPNs: Bool {
        !usesFCM || [AppField.teamID, .keyID, .keyFile].contains { values[$0] != nil }
    }
    /// The platforms that its publishers and devices may name. A gateway need not have the key of APNs.
    public var platforms: Set<Platform> {
        Set((usesAPNs || values[.bundleID] != nil ? [.ios] : []) + (usesFCM ? [.android] : []))
    }

    /// The origin to which pushes go: `https://host[:port]`.
    public var apnsOrigin: String {
        if let url = values[.url] { return url }
        return values[.environment] == "sandbox" ? Self.sandboxOrigin : Self.productionOrigin
    }

    /// The origin for tokens that `apnsOrigin` does not know. Nil if the app uses one environment only.
    public var otherOrigin: String? {
        values[.environment] == "both" ? values[.sandboxURL] ?? Self.sandboxOrigin : nil
    }

    /// The origins of production and of the sandbox. Nil if only one is known, because `apns.url` is not Apple's.
    public var environmentOrigins: (production: String, sandbox: String)? {
        if let otherOrigin { return (apnsOrigin, otherOrigin) }
        return values[.url] == nil ? (Self.productionOrigin, Self.sandboxOrigin) : nil
    }

    /// The fields of the keys that sign for `apnsOrigin`, the preferred key first.
    /// The first key is always one of them, so that its absence is reported.
    public var keyPairs: [AppField.KeyPair] {
        [AppField.firstKey] + (values[.nextKeyID] == nil ? [] : [AppField.nextKey])
    }

    /// The key pairs for `otherOrigin`. Without keys of its own it has the keys of `apnsOrigin`.
    public var otherKeyPairs: [AppField.KeyPair] {
        values[.sandboxKeyID] == nil ? keyPairs : [AppField.sandboxKey]
    }

    /// All keys, each once.
    public var allKeyPairs: [AppField.KeyPair] {
        keyPairs + (values[.sandboxKeyID] == nil ? [] : otherKeyPairs)
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
        let fields = AppField.all.compactMap { field in
            values[field].map { "\(field.path)=\(field.isSecret ? "‹set›" : $0)" }
        }
        return "app(\(fields.joined(separator: " ")))"
    }

    /// Makes `dump` and debuggers show the same as `description`.
    public var customMirror: Mirror { Mirror(self, children: ["fields": description]) }
}
