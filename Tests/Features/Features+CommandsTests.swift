@testable import Settings

extension ReloadedSettingsTests {
    static let textsOfFeatures: [[(String, String)]] = [
        openID
    ]
    static let fieldsOfFeatures: [[(AppField, [AppField: String])]] = [
        approval,
        attestation,
        webhook,
    ]
    static let ofStoriesOfFeatures: [AppField] = [
        attestationRoot,
        webhookSecret,
        webhookSecretFile,
    ]
}

extension PartOnTrial {
    static let ofFeatures: [PartOnTrial] = [
        webhook
    ]
}
