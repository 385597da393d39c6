@testable import Settings

extension ReloadedSettingsTests {
    static let fieldsOfFeatures: [[(AppField, [AppField: String])]] = [
        attestation
    ]
    static let ofStoriesOfFeatures: [AppField] = [
        attestationRoot
    ]
}
