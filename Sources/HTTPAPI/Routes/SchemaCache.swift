import LiveActivity
import Store
import StrictJSON
import Synchronization

/// The schemas of each app. The cache asks for their version at most once a second, so a change shows a second later.
final class SchemaCache: Sendable {
    struct Snapshot: Sendable {
        var version: Int
        var types: [ExactText: SchemaDocument] = [:]
        /// Types whose schema uses keywords that only a newer version of Lamplighter knows.
        var unreadable: Set<ExactText> = []

        /// The type whose names fit best. A whole name beats a beginning, and a longer beginning beats a shorter one.
        func type(for name: ActivityName) -> ExactText? {
            let fits = types.compactMap { type, document in document.fit(name).map { (type: type, fit: $0) } }
            return fits.max { ($0.fit, $1.type) < ($1.fit, $0.type) }?.type
        }
    }

    private struct Entry {
        var snapshot: Snapshot
        var asked: ContinuousClock.Instant
    }

    static let freshness: Duration = .seconds(1)
    private let schemas: Schemas
    private let now: @Sendable () -> ContinuousClock.Instant
    private let entries = Mutex<[AppKey: Entry]>([:])

    init(_ schemas: Schemas, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        self.schemas = schemas
        self.now = now
    }

    func snapshot(_ app: AppKey) async throws(StoreError) -> Snapshot {
        let asked = now()
        let known = entries.withLock { $0[app] }
        if let known, known.asked + Self.freshness > asked { return known.snapshot }
        // In a cluster, most names are on other nodes than the schemas, and go on with those that are known.
        if let known, schemas.isAway(app) { return known.snapshot }
        var snapshot = known?.snapshot ?? Snapshot(version: 0)
        do throws(StoreError) {
            let version = try await schemas.version(app)
            if snapshot.version != version {
                snapshot = try await version > 0 ? Self.compiled(schemas.all(app)) : Snapshot(version: 0)
            }
        } catch {
            // The connection breaks before the node is known to be away.
            if known == nil || !error.isPassing { throw error }
        }
        entries.withLock { $0[app] = Entry(snapshot: snapshot, asked: asked) }
        return snapshot
    }

    /// Drops the cached schemas, so that a change by this gateway is in use at once.
    func forget(_ app: AppKey) { _ = entries.withLock { $0.removeValue(forKey: app) } }

    private static func compiled(_ set: SchemaSet) -> Snapshot {
        var snapshot = Snapshot(version: set.version)
        for (type, bytes) in set.documents {
            let document = try? SchemaDocument(JSONDocument(bytes).root)
            if let document { snapshot.types[type] = document } else { snapshot.unreadable.insert(type) }
        }
        return snapshot
    }
}
