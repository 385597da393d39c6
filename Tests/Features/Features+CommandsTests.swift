@testable import Settings

extension ReloadedSettingsTests {
    static let fieldsOfFeatures: [[(AppField, [AppField: String])]] = [
        approval,
        attestation,
    ]
    static let ofStoriesOfFeatures: [AppField] = [
        attestationRoot
    ]
}
