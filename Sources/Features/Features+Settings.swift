extension AppField {
    static let ofFeatures: [[AppField]] = [
        appAttest,
        approval,
    ]
}

extension SettingKey {
    static let ofFeatures: [[SettingKey]] = [
        approval,
        export,
        intake,
        openID,
    ]
}
