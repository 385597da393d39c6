import LiveActivity

/// The entries of an app's intake that wait, without clock or I/O. An entry that is refused for now waits in the
/// stream, and so do later entries of its names, because pushes of a name keep their order. Entries of other names go
/// on.
///
/// The gateway goes through the stream in passes. A pass begins with the oldest entry, and entries that wait are tried
/// again in the next one.
struct IntakeBacklog {
    /// How long a name may refuse entries before these are rejected.
    static let patience: Duration = .seconds(60)
    /// The time from one pass to the next while entries wait: each pass reads them again.
    static let pause: Duration = .seconds(1)
    /// Most entries that wait. With more, the names that are full have no patience left.
    static let most = 1_000

    /// The last entry that this pass has looked at.
    private(set) var position = Self.start
    /// How many entries of this pass wait.
    private(set) var waiting = 0
    /// Names that an entry of this pass waits for.
    private var names: Set<ActivityName> = []
    /// Since when names have been full.
    private var full: [ActivityName: ContinuousClock.Instant] = [:]
    private var refusing: Set<ActivityName> = []
    private var nextPass: ContinuousClock.Instant?

    private static let start = "0"
    var isEmpty: Bool { waiting == 0 }
    /// Whether there are too many unanswered entries to read more. Entries of names that are full are answered soon.
    var isFull: Bool { waiting >= Self.most }

    /// Begins a new pass if it is time.
    mutating func turn(_ now: ContinuousClock.Instant) {
        if let nextPass, waiting > 0, now < nextPass { return }
        let wasFull = isFull
        full = full.filter { refusing.contains($0.key) }
        if wasFull { for name in full.keys { full[name] = now - Self.patience } }
        (position, waiting, names, refusing) = (Self.start, 0, [], [])
        nextPass = now + Self.pause
    }

    /// How long the gateway may wait for new entries, if some wait.
    func rest(_ now: ContinuousClock.Instant) -> Duration? {
        waiting == 0 ? nil : nextPass.map { max(now.duration(to: $0), .milliseconds(1)) }
    }

    /// Whether an entry of these names has to wait behind another one.
    func blocks(_ others: Set<ActivityName>) -> Bool { !names.isDisjoint(with: others) }

    /// Notes that the entry was looked at, and is answered.
    mutating func passed(_ entry: String) { position = entry }

    /// Notes that the entry waits.
    mutating func wait(_ entry: String, _ others: Set<ActivityName>) {
        position = entry
        waiting += 1
        names.formUnion(others)
    }

    /// Notes that an entry was refused because these names are full, or one of them.
    /// - Returns: whether the entry may wait
    mutating func refused(_ others: Set<ActivityName>, _ now: ContinuousClock.Instant) -> Bool {
        if others.isEmpty { return false }
        let since = others.compactMap { full[$0] }.min() ?? now
        for name in others { full[name] = full[name] ?? since }
        refusing.formUnion(others)
        return now - since < Self.patience
    }

    mutating func accepted(_ others: Set<ActivityName>) { for name in others { full[name] = nil } }
}

extension ContinuousClock.Instant {
    fileprivate static func - (one: Self, other: Self) -> Duration { other.duration(to: one) }
    fileprivate static func - (time: Self, duration: Duration) -> Self { time.advanced(by: .zero - duration) }
}
