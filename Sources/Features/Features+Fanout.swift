extension ReachNote {
    static let ofFeatures: [ReachNote] = [
        numbers
    ]
}
