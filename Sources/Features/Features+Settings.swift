extension AppField {
    static let ofFeatures: [[AppField]] = [
        appAttest
    ]
}

extension SettingKey {
    static let ofFeatures: [[SettingKey]] = [
        export,
        intake,
    ]
}
