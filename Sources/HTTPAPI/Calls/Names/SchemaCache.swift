import LiveActivity
import Store
import StrictJSON

/// The schemas of each app, compiled.
final class SchemaCache: Sendable {
    struct CompiledSchemas: Sendable {
        var types: [ExactText: SchemaDocument] = [:]
        /// Types whose schema uses keywords that only a newer version of Lamplighter knows.
        var unreadable: Set<ExactText> = []

        init() {}

        init(_ set: SchemaSet) {
            for (type, bytes) in set.documents {
                let document = try? SchemaDocument(JSONDocument(bytes).root)
                if let document { types[type] = document } else { unreadable.insert(type) }
            }
        }

        /// The type whose names fit best. A whole name beats a beginning, and a longer beginning beats a shorter one.
        func type(for name: ActivityName) -> ExactText? {
            let fits = types.compactMap { type, document in document.fit(name).map { (type: type, fit: $0) } }
            return fits.max { ($0.fit, $1.type) < ($1.fit, $0.type) }?.type
        }
    }

    private let schemas: Schemas
    private let known: VersionedCache<CompiledSchemas>

    init(_ schemas: Schemas, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        self.schemas = schemas
        known = VersionedCache(
            // Most apps have no schema: then nothing is read.
            unread: .init(version: 0, value: CompiledSchemas()),
            version: { app throws(StoreError) in try await schemas.version(app) },
            read: { app throws(StoreError) in
                let set = try await schemas.all(app)
                return .init(version: set.version, value: CompiledSchemas(set))
            }, now: now)
    }

    /// The schemas as they were at most a second ago, or the last known ones while Redis does not answer.
    func compiled(_ app: AppKey) async throws(StoreError) -> CompiledSchemas {
        // In a cluster, most names are on other nodes than the schemas. Their publishes go on with the known schemas.
        if let last = known.last(app), schemas.isAway(app) { return last }
        do throws(StoreError) { return try await known.recent(app) } catch {
            // The connection breaks before the node is known to be away.
            guard error.isPassing, let last = known.last(app) else { throw error }
            known.prolong(app)
            return last
        }
    }

    func forget(_ app: AppKey) { known.forget(app) }
}
