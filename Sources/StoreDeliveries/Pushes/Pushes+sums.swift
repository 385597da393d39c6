public import LiveActivity
import Redis
public import StoreGround

/// Sums over the history. They read every push, so a call reads a bounded number of them and says where it stopped. The
/// sums of the calls, added up, are those of all pushes.
extension Pushes {
    /// Pushes that one call counts at most.
    public static let mostCounted = 10_000
    /// Pushes of one round trip.
    private static let countedAtOnce = 1_000

    /// Sums of an app's pushes that are still kept.
    /// - Parameters:
    ///   - position: where the last call stopped. Nil begins with the newest push.
    ///   - most: pushes that are read, whether the filter picks them or not.
    public func sums(
        _ app: AppKey, by group: PushSums.Group, _ filter: PushFilter, after position: HistoryPosition?,
        most: Int = Pushes.mostCounted, pass: NamePass = NamePass()
    ) async throws(StoreError) -> (sums: PushSums, next: HistoryPosition?) {
        var sums = PushSums(by: group)
        let now = time.now()
        var walk = HistoryWalk(
            index, app, from: max(now - keys.retention, filter.from), to: min(latest(now), filter.to), after: position,
            step: filter.namePrefix == nil ? min(most, Self.countedAtOnce) : pass.atOnce)
        var (read, passed) = (0, 0)
        while true {
            let entries = try await walk.next()
            guard let end = entries.last else { return (sums, nil) }
            let own = entries.filter { $0.name.begins(with: filter.namePrefix) }
            for part in own.parts(of: min(most, Self.countedAtOnce)) {
                let pushes = try await counted(app, part.map { ($0.id, $0.name) })
                for (entry, push) in zip(part, pushes) {
                    read += 1
                    if let push, filter.includes(push.state, push.event, push.createdAt),
                        Self.shows(entry.id, push.createdAt, in: entry.hour)
                    {
                        sums.add(push)
                    }
                    if read == most { return (sums, entry.position) }
                }
            }
            passed += entries.count - own.count
            // All until `end` is counted.
            if passed >= pass.most { return (sums, own.last?.id == end.id ? end.position : end.position.veiled) }
        }
    }

    /// Sums of a name's pushes that are still kept.
    /// - Parameter push: the last one that the call before has read.
    public func sums(
        _ app: AppKey, of name: ActivityName, by group: PushSums.Group, _ filter: PushFilter, after push: PushID?,
        most: Int = Pushes.mostCounted
    ) async throws(StoreError) -> (sums: PushSums, next: PushID?) {
        var sums = PushSums(by: group)
        var (read, last) = (0, push)
        while read < most {
            let ids = try await chain(app, name, before: last, limit: min(most - read, Self.countedAtOnce))
            if ids.isEmpty { return (sums, nil) }
            for push in try await counted(app, ids.map { ($0, name) }) {
                guard let push else { continue }
                if push.createdAt < filter.from { return (sums, nil) }
                if filter.includes(push.state, push.event, push.createdAt) { sums.add(push) }
            }
            (read, last) = (read + ids.count, ids.last)
        }
        return (sums, last)
    }

    private static let fields = ["event", "state", "created", "targets"]

    /// Nil for a push whose record is gone, or was never written. Payloads are read of small pushes alone.
    private func counted(
        _ app: AppKey, _ pushes: [(id: PushID, name: ActivityName)]
    ) async throws(StoreError) -> [CountedPush?] {
        let names = Self.fields + SettledField.allCases.map(\.rawValue)
        let records = try await redis.pushFields(keys, pushes.map { (keys.tag(app, $0.name), $0.id) }, only: names)
        return zip(pushes, records).map { push, fields in CountedPush(push.name, fields.text) }
    }
}

extension CountedPush {
    /// Reads fields of a push's hash. Nil if it has none.
    fileprivate init?(_ name: ActivityName, _ text: (String) -> String?) {
        func number(_ field: String) -> Int? { text(field).flatMap { StoredNumber.read($0) } }
        guard let event = text("event").flatMap(ActivityEvent.init(rawValue:)),
            let state = text("state").flatMap(PushState.init(rawValue:)), let created = number("created")
        else { return nil }
        var sum = PushSum()
        (sum.pushes, sum.outcomes.targets) = (1, number("targets") ?? 0)
        for outcome in SettledField.allCases { sum.outcomes[outcome] = number(outcome.rawValue) ?? 0 }
        self.init(name: name, state: state, event: event, createdAt: Int64(created), sum: sum)
    }
}
