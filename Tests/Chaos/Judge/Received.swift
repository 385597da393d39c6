/// Everything that the simulator recorded for one token.
struct Received: Sendable {
    var accepted = 0
    var duplicates = 0
    /// The greatest number that reached the token, and how often a lower one came after it.
    var newest: Int?
    var backwards = 0
    var afterEnd = 0
    var deadAnswers = 0
    /// The state of the device: whether it shows an end, and which push.
    var isEnd = false
    var shown: Int?
    /// The number of the `end` that the device shows.
    var end: Int?

    func isEndedAnew(after number: Int) -> Bool { isEnd && (end ?? .max) <= number }
}
