extension Route {
    static let ofFeatures: [[Route]] = [
        numbers
    ]
}

extension MenuEntry {
    static let ofFeatures: [MenuEntry] = [
        numbers
    ]
}

extension NameLink {
    static let ofFeatures: [NameLink] = [
        numbers
    ]
}
