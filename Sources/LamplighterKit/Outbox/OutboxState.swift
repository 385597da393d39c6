/// The state of the outbox on disk, and the rules of its changes. A value without clock or I/O.
///
/// The stored form is read by later versions of the app: a new member must be optional.
struct OutboxState: Codable, Hashable, Sendable {
    struct Entry: Codable, Hashable, Sendable {
        /// Differs for each report, also of one key.
        var number: Int64
        /// Epoch milliseconds at which the report became true.
        var at: Int64
        var report: Report
    }

    /// An activity whose token was reported, until its end was.
    struct Followed: Codable, Hashable, Sendable {
        var name: String
        var attributesType: String
        var number: Int64
        var startedAt: Int64?
    }

    /// A report that is made again when it is old.
    struct Made: Codable, Hashable, Sendable {
        var value: String
        var at: Int64
    }

    /// The process that sends. Others wait, so that no report is sent twice.
    struct Lease: Codable, Hashable, Sendable {
        var owner: String
        var until: Int64
    }

    static let mostEntries = 500
    static let mostFollowed = 500
    static let mostReceipts = 1_000
    /// How many sent receipts are remembered.
    static let mostTold = 300
    /// The gateway reads thirteen digits. A device whose clock begins in 1970 has fewer.
    static let earliest: Int64 = 1_600_000_000_000
    static let longestLife: Int64 = 28_800_000
    static let leaseLength: Int64 = 60_000
    /// A clock that is slower than this is not believed.
    static let slowness: Int64 = 60_000
    /// Start tokens are stale after 48 h at the gateway.
    static let day: Int64 = 86_400_000

    private(set) var version = 1
    /// The install that the reports are of. A restored backup is another one.
    let install: String
    private(set) var entries: [Entry] = []
    private(set) var receipts: [Receipt] = []
    private(set) var told: [Receipt] = []
    private(set) var followed: [String: Followed] = [:]
    private(set) var starts: [String: Made] = [:]
    private(set) var device: Made?
    private(set) var lease: Lease?
    private(set) var lastNumber: Int64 = 0
    private(set) var lastStamp: Int64 = 0
    /// The user opted out: nothing is reported. Nil: false.
    private(set) var isOut: Bool?
    /// How many entries made room since the developer was told.
    private(set) var dropped = 0

    init(install: String) { self.install = install }

    /// Adds a report in place of an older one with the same key.
    private mutating func add(_ report: Report, at stamp: Int64) {
        entries.removeAll { $0.report.key == report.key }
        lastNumber += 1
        entries.append(Entry(number: lastNumber, at: stamp, report: report))
        if entries.count > Self.mostEntries {
            entries.removeFirst()
            dropped += 1
        }
    }

    /// A time after each earlier one of this install, and after the gateway's last answer. A report that comes after a
    /// step of the clock must still be the newest, and so must one of a phone whose clock is years slow.
    private mutating func stamp(_ now: Int64) -> Int64 {
        lastStamp = max(now, lastStamp + 1, Self.earliest)
        return lastStamp
    }

    /// - Parameter isPending: the activity starts later (iOS 26).
    mutating func follow(
        _ activity: String, name: String, of attributesType: String, token: String, hasFrequentPushes: Bool,
        isPending: Bool, now: Int64
    ) {
        guard isOut != true else { return }
        let at = stamp(now)
        var startedAt = isPending ? nil : followed[activity]?.startedAt ?? at
        // iOS ends an activity after 8 hours. An older start is of a clock that was set since: the gateway would take
        // the card for an ended one, and refuse a later card.
        if let time = startedAt, !(0..<Self.longestLife).contains(at - time) { startedAt = at }
        followed[activity] = Followed(
            name: name, attributesType: attributesType, number: lastNumber + 1, startedAt: startedAt)
        if followed.count > Self.mostFollowed, let oldest = followed.min(by: { $0.value.number < $1.value.number }) {
            followed[oldest.key] = nil
        }
        add(
            .follow(
                .init(
                    name: name, activity: activity, token: token, hasFrequentPushes: hasFrequentPushes,
                    startedAt: startedAt == at ? nil : startedAt)), at: at)
    }

    /// Does nothing if the activity was never reported, or its end was.
    mutating func unfollow(_ activity: String, now: Int64) {
        guard let known = followed.removeValue(forKey: activity) else { return }
        add(.unfollow(.init(name: known.name, activity: activity)), at: stamp(now))
    }

    /// Reports the end of the activities of a type that are gone.
    mutating func keep(_ activities: Set<String>, of attributesType: String, now: Int64) {
        let gone = followed.filter { $0.value.attributesType == attributesType && !activities.contains($0.key) }
        for activity in gone.keys.sorted() { unfollow(activity, now: now) }
    }

    /// Does nothing if this token was reported within a day.
    mutating func start(_ attributesType: String, token: String, now: Int64) {
        guard isOut != true, !Self.isFresh(starts[attributesType], token, now, for: Self.day) else { return }
        starts[attributesType] = Made(value: token, at: now)
        add(.start(.init(attributesType: attributesType, token: token)), at: stamp(now))
    }

    /// Does nothing if this version of iOS was reported within a month.
    mutating func device(_ system: String, now: Int64) {
        guard !Self.isFresh(device, system, now, for: 30 * Self.day) else { return }
        device = Made(value: system, at: now)
        add(.device(.init(system: system)), at: stamp(now))
    }

    /// A time ahead of now is of a clock that was set back, and is not believed.
    private static func isFresh(_ made: Made?, _ value: String, _ now: Int64, for length: Int64) -> Bool {
        guard let made, made.value == value else { return false }
        return made.at <= now && now - made.at < length
    }

    mutating func receive(_ receipt: Receipt) {
        guard isOut != true, !receipts.contains(receipt), !told.contains(receipt) else { return }
        receipts.append(receipt)
        if receipts.count > Self.mostReceipts { receipts.removeFirst() }
    }

    /// Reports the end of everything, and then nothing more.
    mutating func optOut(now: Int64) {
        for activity in followed.keys.sorted() { unfollow(activity, now: now) }
        for type in starts.keys.sorted() { add(.unstart(.init(attributesType: type)), at: stamp(now)) }
        (starts, receipts, isOut) = ([:], [], true)
    }

    mutating func optIn() { isOut = nil }

    // MARK: After a reply

    mutating func remove(_ entry: Entry) { entries.removeAll { $0.number == entry.number } }

    /// The gateway takes a time ahead of its own clock for now, and dates an unknown card of a slow clock itself. So
    /// later reports of a slow clock lie ahead of what it has stored.
    ///
    /// - Parameter date: the `Date` of the answer, which may be some seconds old.
    mutating func answered(at date: Int64, now: Int64) {
        if date - now > Self.slowness { lastStamp = max(lastStamp, date + Self.slowness) }
    }

    /// The others go first, so that one report that fails again and again holds up none of them.
    mutating func postpone(_ entry: Entry) {
        guard let index = entries.firstIndex(where: { $0.number == entry.number }) else { return }
        entries.append(entries.remove(at: index))
    }

    mutating func leaveOutStart(_ entry: Entry) {
        guard let index = entries.firstIndex(where: { $0.number == entry.number }),
            case .follow(var follow) = entries[index].report
        else { return }
        followed[follow.activity]?.startedAt = nil
        follow.startedAt = nil
        entries[index].report = .follow(follow)
    }

    /// The gateway has these, or will never take them.
    mutating func settle(_ settled: [Receipt]) {
        let all = Set(settled)
        receipts.removeAll { all.contains($0) }
        told.append(contentsOf: settled.filter { !told.contains($0) })
        if told.count > Self.mostTold { told.removeFirst(told.count - Self.mostTold) }
    }

    mutating func developerKnows() { dropped = 0 }

    // MARK: The process that sends

    /// Takes the lease if it is free. A lease that lies too far ahead is of a clock that was set back.
    mutating func take(_ owner: String, now: Int64) {
        if let lease, lease.owner != owner, lease.until > now, lease.until - now <= Self.leaseLength { return }
        if let lease, lease.owner == owner, (20_000...Self.leaseLength).contains(lease.until - now) { return }
        lease = Lease(owner: owner, until: now + Self.leaseLength)
    }

    mutating func release(_ owner: String) {
        if lease?.owner == owner { lease = nil }
    }
}
