public import LiveActivity
import Redis
public import StoreGround

/// A push of the index, as it is now.
public struct IndexedPush: Sendable {
    public var id: PushID
    /// The push's record. Nil: it is gone, was never written, or cannot be read.
    public var record: Record?

    public struct Record: Sendable {
        public var ledger: Ledger
        public var audience: Audience
        /// The payload as it goes to APNs.
        public var payload: [UInt8]
    }
}

/// Where a walk through one hour of the index has got: behind this push of this slice.
public struct IndexPosition: Sendable, Hashable {
    public var slice: Int
    public var push: PushID?

    public init(slice: Int, push: PushID?) { (self.slice, self.push) = (slice, push) }
}

/// For the export of the history, which reads each hour of the index once.
extension Pushes {
    /// The length of an hour of the index, ms. A push joins its hour at most as long after the hour's end.
    public static let hour = PushIndex.hour

    /// No push that ended before is still there, epoch ms.
    public func keptSince(_ now: Int64) -> Int64 { now - keys.retention }

    /// Some pushes of an hour since 1970, in the order of the index. One that the history shows in another hour is left
    /// out.
    /// - Parameter position: where the call before ended. Nil begins the hour.
    /// - Returns: `next` is nil if the hour has no more.
    public func indexed(
        _ app: AppKey, hour: Int64, after position: IndexPosition?, limit: Int
    ) async throws(StoreError) -> (pushes: [IndexedPush], next: IndexPosition?) {
        let position = position ?? IndexPosition(slice: 0, push: nil)
        // No name has a byte of 255.
        let last = position.push.map { $0.uuid.bytes + [0xFF] }
        let (members, more) = try await index.members(app, hour: hour, slice: position.slice, after: last, limit: limit)
        let entries = members.compactMap(PushIndex.push)
        let found = try await records(app, entries)
        let elsewhere = try await inOtherHours(app, hour, found)
        let pushes = found.filter { !elsewhere.contains($0.id) }
        if let more, let last = PushIndex.id(more) ?? entries.last?.id {
            return (pushes, IndexPosition(slice: position.slice, push: last))
        }
        let next = position.slice + 1
        return (pushes, next < keys.partitions ? IndexPosition(slice: next, push: nil) : nil)
    }

    /// The pushes that another hour has too, and shows. After a step of the clock, a push may be accepted long after
    /// its id without being there.
    private func inOtherHours(
        _ app: AppKey, _ hour: Int64, _ pushes: [IndexedPush]
    ) async throws(StoreError) -> Set<PushID> {
        let late = pushes.compactMap(\.record?.ledger).filter { !Self.shows($0.id, $0.createdAt, in: hour) }
        if late.isEmpty { return [] }
        return try await index.listed(app, late.map { ($0.id, $0.createdAt) })
    }

    /// Pushes of the app by their ids.
    public func indexed(_ app: AppKey, _ ids: [PushID]) async throws(StoreError) -> [IndexedPush] {
        let names = try await index.names(of: ids, app)
        let known = zip(ids, names).compactMap { id, name in name.map { (id: id, name: $0) } }
        let gone = zip(ids, names).filter { $0.1 == nil }.map { IndexedPush(id: $0.0, record: nil) }
        return try await records(app, known) + gone
    }

    private func records(
        _ app: AppKey, _ pushes: [(id: PushID, name: ActivityName)]
    ) async throws(StoreError) -> [IndexedPush] {
        let hashes = try await redis.pushFields(keys, pushes.map { (keys.tag(app, $0.name), $0.id) })
        return zip(pushes, hashes).map { push, fields in
            guard !fields.isEmpty, let ledger = try? Ledger(id: push.id, name: push.name, fields),
                let record = try? PushRecord(id: push.id, fields)
            else { return IndexedPush(id: push.id, record: nil) }
            return IndexedPush(
                id: push.id, record: .init(ledger: ledger, audience: record.audience, payload: record.payload))
        }
    }
}
