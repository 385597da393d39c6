import LiveActivity
import Store

/// The credentials of each app that are in Redis. Only requests with a credential make it ask. So a revocation is in
/// force at every gateway a second later, and a flood of wrong secrets costs Redis one question at a time for each app.
final class CredentialCache: Sendable {
    private let known: VersionedCache<[String: CheckedCredential]>

    init(_ credentials: Credentials, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        // No version is -1, so the first question reads them.
        known = VersionedCache(
            unread: .init(version: -1, value: [:]),
            version: { app throws(StoreError) in try await credentials.version(app) },
            read: { app throws(StoreError) in
                let (version, all) = try await credentials.all(app)
                let checked = all.map { ($0.id, CheckedCredential($0)) }
                return .init(version: version, value: Dictionary(uniqueKeysWithValues: checked))
            }, now: now)
    }

    /// The credential as it was at most a second ago.
    /// - Throws: if Redis does not say whether it is still valid.
    func recent(_ app: AppKey, _ id: String) async throws(StoreError) -> CheckedCredential? {
        try await known.recent(app)[id]
    }

    /// The credential as it is now. The question is sent after this call began.
    func current(_ app: AppKey, _ id: String) async throws(StoreError) -> CheckedCredential? {
        try await known.current(app)[id]
    }

    func forget(_ app: AppKey) { known.forget(app) }
}
