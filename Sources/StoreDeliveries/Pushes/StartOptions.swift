import LiveActivity
import StoreGround

/// The options of a start, as one digit in Redis: `restart` of a push and of a schedule. Earlier versions know 0 and 1.
struct StartOptions: OptionSet {
    let rawValue: Int
    static let restart = StartOptions(rawValue: 1)
    static let respectDismissal = StartOptions(rawValue: 2)

    init(rawValue: Int) { self.rawValue = rawValue }

    init(_ options: PublishOptions) {
        self = []
        if options.restart { insert(.restart) }
        if options.respectDismissal == true { insert(.respectDismissal) }
    }

    init(stored text: String?) { self.init(rawValue: text.flatMap { StoredNumber.read($0) } ?? 0) }

    var stored: String { "\(rawValue)" }
}
