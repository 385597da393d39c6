import LiveActivity
import Redis
import StoreDeliveries
import StoreGround

/// A push of a closed hour that may still change: it is not final, or its dead letter may be retried.
struct WatchedPush {
    var id: PushID
    var name: ActivityName
    var hour: Int64
    var event: ActivityEvent
    /// Epoch ms.
    var deadline: Int64
    /// As they were counted.
    var counts: SumCounts
    private var isOpen = true
    private var hasFailures = true

    init(_ id: PushID, _ name: ActivityName, hour: Int64, _ record: Sums.Record) {
        (self.id, self.name, self.hour) = (id, name, hour)
        (event, deadline, counts) = (record.event, record.deadline, record.counts)
        isOpen = !record.state.isFinal
        hasFailures = record.state == .failed || counts.outcomes.failed + counts.outcomes.expired > 0
    }

    func key(_ name: ActivityName?) -> SumKey { SumKey(event, name) }

    func mayChange(_ now: Int64) -> Bool { isOpen || hasFailures && deadline > now }

    /// `<hour> <event> ios <deadline> <counts> <name>`
    var stored: String { "\(hour) \(key(nil).stored) \(deadline) \(counts.stored) \(name.rawValue)" }

    init?(id: String, stored: String) {
        let parts = stored.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: false)
        guard parts.count == 6, let id = PushID(id), let hour = StoredNumber.read(parts[0]),
            let key = SumKey(stored: "\(parts[1]) \(parts[2])"), let deadline = StoredNumber.read(parts[3]),
            let name = try? ActivityName(String(parts[5]))
        else { return nil }
        (self.id, self.name, self.hour, self.deadline) = (id, name, Int64(hour), Int64(deadline))
        (event, counts) = (key.event, SumCounts(stored: parts[4]))
    }
}

extension Sums {
    /// Entries of the index, and records, that are read at once.
    private static let step = 500

    /// The part of a push that the sums need.
    struct Record {
        var event: ActivityEvent
        var state: PushState
        /// Epoch ms.
        var createdAt: Int64
        var deadline: Int64
        /// Somebody tried it on one device (`PushRecord.isTest`), so it does not count.
        var isTest: Bool
        var counts: SumCounts

        static let fields =
            [
                "event", "aud", "trace", "state", "created", "until", "targets", "finished", "first", "waited",
                "r:shown", "r:ended", "r:dismissed",
            ]
            + SettledField.allCases.map(\.rawValue) + Ledger.fieldsApart

        init?(_ fields: StoredHash) {
            guard let event = fields.text("event").flatMap(ActivityEvent.init(rawValue:)),
                let state = fields.text("state").flatMap(PushState.init(rawValue:)),
                let created = fields.number("created"), let until = fields.number("until")
            else { return nil }
            (self.event, self.state, createdAt, deadline) = (event, state, Int64(created), Int64(until))
            let audience = fields.bytes("aud").flatMap { Audience(encoded: $0) }
            isTest = fields.text("trace") == "1" && audience?.isOneChannel == true
            counts = SumCounts(fields, createdAt: createdAt)
        }
    }

    /// An hour as its pushes are now.
    struct CountedHour {
        var table = SumTable()
        var watched: [WatchedPush] = []
        var pushes = 0
    }

    /// Nil for a push whose record is gone, was never written, or cannot be read.
    func records(_ app: AppKey, _ pushes: [(PushID, ActivityName)]) async throws(StoreError) -> [Record?] {
        var found: [Record?] = []
        for part in pushes.parts(of: Self.step) {
            let places = part.map { (tag: keys.tag(app, $0.1), id: $0.0) }
            // Most pushes of an hour are kept records, which take one command.
            let kept = try await redis.run(
                places.map { RedisCommand("HGET", keys.keptPushes($0.tag, $0.id), .bytes($0.id.uuid.bytes)) })
            var records = try zip(places, kept).map { (place, reply) throws(StoreError) in
                try reply.optionalBytes().flatMap { KeptPush(place.id, $0) }.flatMap { Record($0.fields) }
            }
            let others = records.indices.filter { records[$0] == nil }
            let fields = try await redis.pushFields(keys, others.map { places[$0] }, only: Record.fields)
            for (index, fields) in zip(others, fields) { records[index] = Record(fields) }
            found += records
        }
        return found
    }

    /// Adds up the pushes of an hour.
    /// - Parameters:
    ///   - most: an hour of more pushes is not counted. Nil: there is no bound.
    ///   - closedAt: epoch ms. Nil: the hour stays open.
    func count(
        _ app: AppKey, hour: Int64, most: Int? = nil, closedAt now: Int64? = nil
    ) async throws(StoreError) -> CountedHour? {
        var counted = CountedHour()
        for slice in 0..<keys.partitions {
            var last: [UInt8]?
            repeat {
                let (members, next) = try await pushes.index.members(
                    app, hour: hour, slice: slice, after: last, limit: Self.step)
                let entries = members.compactMap(PushIndex.push).map { ($0.id, $0.name) }
                counted.pushes += entries.count
                if let most, counted.pushes > most { return nil }
                let found = zip(entries, try await records(app, entries)).compactMap { entry, record in
                    record.flatMap { $0.isTest ? nil : (id: entry.0, name: entry.1, record: $0) }
                }
                let others = try await elsewhere(app, hour, found.map { ($0.id, $0.record.createdAt) })
                for push in found where !others.contains(push.id) {
                    let watched = WatchedPush(push.id, push.name, hour: hour, push.record)
                    counted.table.count(push.record.counts, watched.key(push.name))
                    if let now, watched.mayChange(now) { counted.watched.append(watched) }
                }
                last = next
            } while last != nil
        }
        return counted
    }

    /// The pushes that another hour has too, and shows: a schedule is in the hour of its id and in the hour in which it
    /// goes out.
    private func elsewhere(
        _ app: AppKey, _ hour: Int64, _ pushes: [(id: PushID, acceptedAt: Int64)]
    ) async throws(StoreError) -> Set<PushID> {
        let late = pushes.filter { !Pushes.shows($0.id, $0.acceptedAt, in: hour) }
        if late.isEmpty { return [] }
        return try await self.pushes.index.listed(app, late)
    }
}
