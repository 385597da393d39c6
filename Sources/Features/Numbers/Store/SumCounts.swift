public import LiveActivity
import StoreDeliveries
import StoreGround

/// Some pushes, added up: the value that each hour, day, event and name has.
public struct SumCounts: Sendable, Hashable {
    public var pushes = 0
    public var outcomes = Outcomes()
    /// The part of them on each platform that counts apart.
    public var apart: [Platform: Outcomes] = [:]
    /// Devices that sent receipts, each once for each push.
    public var shown = 0
    public var ended = 0
    public var dismissed = 0
    /// Pushes that reached a device, and the time from their acceptance to their ends, ms.
    public var reached = 0
    public var lasted = 0
    /// The time from their acceptance to their first device, ms.
    public var started = 0
    /// The time from their acceptance to their begin, ms. Less than a second counts as none.
    public var waited = 0
    /// The most targets that one push had, the longest time to an end, and the longest to a begin.
    public var largest = 0
    public var longest = 0
    public var longestWait = 0

    public init() {}

    /// One push, by the fields of its record.
    init(_ fields: StoredHash, createdAt: Int64) {
        func count(_ field: String) -> Int { max(0, fields.number(field) ?? 0) }
        pushes = 1
        outcomes.targets = count("targets")
        for outcome in SettledField.allCases { outcomes[outcome] = count(outcome.rawValue) }
        apart = Ledger.settled(Ledger.apart(fields), of: outcomes)
        (shown, ended, dismissed) = (count("r:shown"), count("r:ended"), count("r:dismissed"))
        largest = outcomes.targets
        if outcomes.delivered > 0, let finished = fields.number("finished") {
            // The clock may have been set back.
            (reached, lasted) = (1, max(0, finished - Int(createdAt)))
            // A push of one page has no first device before its end.
            started = min(lasted, max(0, (fields.number("first") ?? finished) - Int(createdAt)))
            waited = count("waited")
            (longest, longestWait) = (lasted, waited)
        }
    }

    /// In the order of the stored form. A later version may add some at its end.
    private var numbers: [Int] {
        get {
            [largest, longest, longestWait, pushes, outcomes.targets] + SettledField.allCases.map { outcomes[$0] }
                + [shown, ended, dismissed, reached, lasted, started, waited]
                + Self.platformsApart.flatMap { platform in
                    let part = apart[platform] ?? Outcomes()
                    return [part.targets] + SettledField.allCases.map { part[$0] }
                }
        }
        set {
            var rest = newValue[...]
            func next() -> Int { rest.popFirst() ?? 0 }
            (largest, longest, longestWait) = (next(), next(), next())
            (pushes, outcomes.targets) = (next(), next())
            for outcome in SettledField.allCases { outcomes[outcome] = next() }
            (shown, ended, dismissed, reached, lasted) = (next(), next(), next(), next(), next())
            (started, waited) = (next(), next())
            for platform in Self.platformsApart {
                var part = Outcomes(targets: next())
                for outcome in SettledField.allCases { part[outcome] = next() }
                apart[platform] = part == Outcomes() ? nil : part
            }
        }
    }
    private static let platformsApart = Platform.all.filter(\.countsApart)
    /// The first numbers, which are not added up.
    private static let largests = 3

    public static func += (sum: inout SumCounts, other: SumCounts) {
        sum.numbers = zip(sum.numbers, other.numbers).enumerated().map { index, pair in
            index < largests ? max(pair.0, pair.1) : pair.0 + pair.1
        }
    }

    /// Takes away what was counted of pushes before. The largest of several stay as they are.
    static func -= (sum: inout SumCounts, other: SumCounts) {
        sum.numbers = zip(sum.numbers, other.numbers).enumerated().map { index, pair in
            index < largests ? pair.0 : pair.0 - pair.1
        }
    }

    /// Numbers with commas between them, without the zeros at the end.
    var stored: String {
        var numbers = numbers
        while numbers.count > 1, numbers.last == 0 { numbers.removeLast() }
        return numbers.map { "\($0)" }.joined(separator: ",")
    }

    init(stored: some StringProtocol) {
        numbers = stored.split(separator: ",", omittingEmptySubsequences: false).map { StoredNumber.read($0) ?? 0 }
    }
}

/// The subject of a sum: an event on all platforms, of all names or of one.
public struct SumKey: Sendable, Hashable {
    public var event: ActivityEvent
    public var name: ActivityName?

    /// Stands behind the event, since there was one platform only.
    private static let word = "ios"

    /// `update ios` or `update ios match-42`: a field of an hour or of a day.
    var stored: String { "\(event.rawValue) \(Self.word)" + (name.map { " \($0.rawValue)" } ?? "") }

    init(_ event: ActivityEvent, _ name: ActivityName?) { (self.event, self.name) = (event, name) }

    /// Nil for the other fields of an hour.
    init?(stored: String) {
        let parts = stored.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
        guard parts.count >= 2, let event = ActivityEvent(rawValue: parts[0]), parts[1] == Self.word else { return nil }
        self.init(event, nil)
        if parts.count == 3 {
            guard let name = try? ActivityName(parts[2]) else { return nil }
            self.name = name
        }
    }

    /// The keys of all pushes, or of a name's.
    static func all(_ name: ActivityName?) -> [SumKey] { ActivityEvent.allCases.map { SumKey($0, name) } }
}

/// The sums of one hour or day, of all names and of the names with the most deliveries.
public struct SumTable: Sendable, Hashable {
    /// The names that a closed hour or day has.
    public static let mostNames = 1_000
    /// The names that a day keeps until it is over. A name that comes late may still be one of its first thousand.
    static let mostNamesOfOpenDay = 4_000
    /// The names that are counted at once. Beyond them, half with the fewest deliveries are left out.
    private static let mostNamesAtOnce = 40_000

    public internal(set) var sums: [SumKey: SumCounts] = [:]
    private var names: Set<ActivityName> = []

    init() {}

    init(_ fields: StoredHash) {
        for (field, value) in fields.pairs {
            if let key = SumKey(stored: field) { add(SumCounts(stored: value), key) }
        }
    }

    mutating func add(_ counts: SumCounts, _ key: SumKey) {
        sums[key, default: SumCounts()] += counts
        if let name = key.name { names.insert(name) }
    }

    mutating func add(_ other: SumTable) {
        for (key, counts) in other.sums { add(counts, key) }
    }

    /// Counts a push of a name for all names too.
    mutating func count(_ counts: SumCounts, _ key: SumKey) {
        add(counts, SumKey(key.event, nil))
        add(counts, key)
        if names.count > Self.mostNamesAtOnce { keepNames(Self.mostNamesAtOnce / 2) }
    }

    /// Leaves out all names but so many with the most deliveries.
    mutating func keepNames(_ most: Int) {
        guard names.count > most else { return }
        var deliveries: [ActivityName: Int] = [:]
        for (key, counts) in sums {
            if let name = key.name { deliveries[name, default: 0] += counts.outcomes.delivered }
        }
        let sorted = deliveries.sorted { ($1.value, $0.key.exact) < ($0.value, $1.key.exact) }
        names = Set(sorted.prefix(most).map(\.key))
        sums = sums.filter { $0.key.name.map(names.contains) ?? true }
    }

    /// Fields and values for a script.
    var stored: [(String, String)] { sums.map { ($0.key.stored, $0.value.stored) } }
}
