import LiveActivity
import Store
import Synchronization

/// The credentials of each app that are in Redis. The cache asks for their version at most once a second, and only if a
/// request has such a credential. So a revocation is in force everywhere a second later.
final class CredentialCache: Sendable {
    private struct Entry {
        var version = -1
        var credentials: [String: CheckedCredential] = [:]
        var asked: ContinuousClock.Instant
    }

    static let freshness: Duration = .seconds(1)
    private let credentials: Credentials
    private let now: @Sendable () -> ContinuousClock.Instant
    private let entries = Mutex<[AppKey: Entry]>([:])

    init(_ credentials: Credentials, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        self.credentials = credentials
        self.now = now
    }

    /// - Throws: if Redis does not say whether the credential is still valid.
    func credential(_ app: AppKey, _ id: String) async throws(StoreError) -> CheckedCredential? {
        let asked = now()
        let known = entries.withLock { $0[app] }
        if let known, known.asked + Self.freshness > asked { return known.credentials[id] }
        let version = try await credentials.version(app)
        var entry = known ?? Entry(asked: asked)
        entry.asked = asked
        if entry.version != version {
            let (version, all) = try await credentials.all(app)
            entry.version = version
            entry.credentials = Dictionary(uniqueKeysWithValues: all.map { ($0.id, CheckedCredential($0)) })
        }
        entries.withLock { entries in
            // A slower answer must not bring back what a later one has removed.
            if entries[app].map({ $0.asked < asked }) ?? true { entries[app] = entry }
        }
        return entry.credentials[id]
    }

    /// Drops what is known, so that a change by this gateway is in force at once.
    func forget(_ app: AppKey) { _ = entries.withLock { $0.removeValue(forKey: app) } }
}
