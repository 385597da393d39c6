import LiveActivity
import Store
import Synchronization

/// The credentials of each app that are in Redis. Only requests with a credential make it ask. So a revocation is in
/// force at every gateway a second later, and a flood of wrong secrets costs Redis one question at a time for each app.
final class CredentialCache: Sendable {
    private struct Use: Hashable {
        var app: AppKey
        var id: String
    }

    /// How exactly the list of credentials tells the last use, in ms. A credential is written that often at most.
    static let useStep: Int64 = 300_000
    private let known: VersionedCache<[String: CheckedCredential]>
    private let credentials: Credentials
    /// When the last use of a credential was written, epoch ms.
    private let uses = Mutex<[Use: Int64]>([:])

    init(_ credentials: Credentials, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        self.credentials = credentials
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

    /// Keeps that a credential was used, beside the request. A use that Redis does not take is told by the next one.
    func used(_ app: AppKey, _ id: String, at now: Int64) {
        let use = Use(app: app, id: id)
        let isDue = uses.withLock { uses in
            if let last = uses[use], (0..<Self.useStep).contains(now - last) { return false }
            uses[use] = now
            return true
        }
        if isDue { Task { try? await credentials.noteUse(app, id, at: now) } }
    }
}
