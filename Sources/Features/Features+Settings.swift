extension SettingKey {
    static let ofFeatures: [[SettingKey]] = [
        export,
        intake,
    ]
}
