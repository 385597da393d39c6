import LiveActivity
import StoreGround

/// Walks back through the index of an app's pushes, newest first. It holds one part of the index at a time.
struct HistoryWalk {
    struct Entry {
        /// The hour of the index that has it.
        var hour: Int64
        var id: PushID
        var name: ActivityName

        var position: HistoryPosition { HistoryPosition(hour: hour, push: id) }
    }

    private static let mostHours: Int64 = 32
    private let index: PushIndex
    private let app: AppKey
    /// Entries that are read of each hour at once.
    private let step: Int
    private let oldest: Int64
    private var hour: Int64
    private var before: PushID?
    /// Doubles while hours are empty or short, because most apps have few pushes in most hours.
    private var hoursAtOnce: Int64 = 1

    /// - Parameters:
    ///   - from, to: epoch ms; no push outside was accepted in between.
    ///   - position: where the last walk ended. Nil begins with the newest push.
    init(_ index: PushIndex, _ app: AppKey, from: Int64, to: Int64, after position: HistoryPosition?, step: Int) {
        (self.index, self.app, self.step) = (index, app, step)
        let newest = to / PushIndex.hour + 1
        oldest = max(0, from) / PushIndex.hour
        hour = min(position?.hour ?? newest, newest)
        before = position.flatMap { $0.hour <= newest ? $0.push : nil }
    }

    /// The next entries. Empty: there are no more.
    mutating func next() async throws(StoreError) -> [Entry] {
        while hour >= oldest {
            let hours = Array(stride(from: hour, through: max(oldest, hour - hoursAtOnce + 1), by: -1))
            hoursAtOnce = min(2 * hoursAtOnce, Self.mostHours)
            var entries: [Entry] = []
            let parts = try await index.pushes(app, hours: hours, before: before, limit: step)
            for (at, part) in zip(hours, parts) {
                entries += part.pushes.map { Entry(hour: at, id: $0.id, name: $0.name) }
                // This hour has more.
                if let next = part.next {
                    (hour, before) = (at, next)
                    break
                }
                (hour, before) = (at - 1, nil)
            }
            if !entries.isEmpty { return entries }
        }
        return []
    }
}
