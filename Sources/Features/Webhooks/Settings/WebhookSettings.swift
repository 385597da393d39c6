import LiveActivity

/// The settings of all webhooks.
public struct WebhookSettings: Sendable {
    public var timeout = Duration.zero
    public var giveUpAfter = Duration.zero
}

extension Settings {
    public var webhook: WebhookSettings {
        get { extras[WebhookSettings.self] ?? WebhookSettings() }
        set { extras[WebhookSettings.self] = newValue }
    }
}

extension SettingKey {
    static let webhook: [SettingKey] = [
        .time(\.webhook.timeout, "webhook.timeout", 0.1...60, "10s").help("deadline of one request to a webhook")
            .of(.worker).live(.worker),
        .time(\.webhook.giveUpAfter, "webhook.give_up_after", 60...604_800, "24h")
            .help("time after which an event that a webhook does not take becomes a dead event").of(.worker)
            .live(.worker),
    ]
}
