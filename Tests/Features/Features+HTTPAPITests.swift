extension ChangingCall {
    static let ofFeatures: [[ChangingCall]] = [
        sketches,
        testDevices,
    ]
}

extension ActionWordsTests {
    static let ofFeatures: [[(String, String)]] = [
        sketches,
        testDevices,
    ]
}

extension ConsoleFuzzTests {
    static let ofFeatures: [(String, Form)] = [
        sketches,
        testDevices,
    ]
}
