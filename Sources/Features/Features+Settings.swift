extension AppField {
    static let ofFeatures: [[AppField]] = [
        appAttest,
        approval,
        webhook,
    ]
}

extension SettingKey {
    static let ofFeatures: [[SettingKey]] = [
        approval,
        export,
        intake,
        openID,
        webhook,
    ]
}

extension EventTaker {
    static let ofFeatures: [EventTaker] = [
        webhook
    ]
}
