import Answers

/// The settings that this gateway uses.
struct SettingCalls: CallGroup {
    private let configuration: GatewayConfiguration

    init(_ parts: GatewayParts) { configuration = parts.configuration }

    /// `GET /api/settings`: each setting, its source, and whether a reload changes it. No secret is in it.
    func list(_ call: Call) async throws -> Answer {
        Answer(200, SettingsAnswer(settings: configuration.settings(call.app.key)))
    }
}
