@testable import Settings

extension ReloadedSettingsTests {
    static let textsOfFeatures: [[(String, String)]] = [
        openID
    ]
    static let fieldsOfFeatures: [[(AppField, [AppField: String])]] = [
        approval,
        attestation,
    ]
    static let ofStoriesOfFeatures: [AppField] = [
        attestationRoot
    ]
}
