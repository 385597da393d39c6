import HTTPAPI

extension SettingKey {
    static let intake: [SettingKey] = [
        .choice(\.gateway.readsIntake, "gateway.intake", [("false", false), ("true", true)], "false")
            .help("whether to publish what others write into the stream of publishes in Redis, see docs/api.md")
            .of(.gateway).restartsForNewApps { $0.gateway.readsIntake }
    ]
}
