extension Alarm.Kind {
    static let ofFeatures: [Alarm.Kind] = [
        export,
        webhook,
    ]
}
