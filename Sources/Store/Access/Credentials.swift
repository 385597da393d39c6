public import LiveActivity
import Redis
import StoreGround

/// The credentials that were made while the deployment runs. The configuration file's credentials are not in Redis.
public struct Credentials: Sendable {
    /// Most credentials of one app.
    public static let most = 200

    public enum Change: Sendable, Hashable {
        case done
        /// Another caller changed the credential meanwhile, or it exists, or it is gone.
        case conflict
        case full
    }

    private static let idPrefix = "c:"
    /// Fields of another hash: an older version compares the whole record when it rotates a credential, and would find
    /// a member that it does not know.
    private static let (makerPrefix, usePrefix) = ("b:", "u:")
    let redis: RedisClient
    let keys: Keyspace

    /// Grows with each change.
    public func version(_ app: AppKey) async throws(StoreError) -> Int {
        let reply = try await redis.run("HGET", keys.credentials(app), "version")
        return reply.isNil ? 0 : try reply.integer()
    }

    /// In the order of their ids, without credentials that a newer version wrote.
    public func all(_ app: AppKey) async throws(StoreError) -> (version: Int, credentials: [AppCredential]) {
        let reply = try await redis.run("HGETALL", keys.credentials(app))
        var version = 0
        var found: [AppCredential] = []
        for (field, value) in try reply.pairs() {
            let field = try field.string()
            if field == "version" { version = try value.integer() }
            guard let id = field.rest(behind: Self.idPrefix) else { continue }
            if let credential = AppCredential(id: String(id), document: Array(try value.bytes())) {
                found.append(credential)
            }
        }
        return (version, found.sorted { $0.id.utf8.lexicographicallyPrecedes($1.id.utf8) })
    }

    /// - Parameter old: the credential to replace; nil if there must be none of that id.
    public func change(
        _ app: AppKey, _ id: String, from old: AppCredential?, to new: AppCredential
    ) async throws(StoreError) -> Change {
        try await set(app, id, old.map { .bytes($0.document) } ?? "", .bytes(new.document))
    }

    /// Removes a credential, whatever it is now.
    /// - Returns: false if there is none.
    public func remove(_ app: AppKey, _ id: String) async throws(StoreError) -> Bool {
        let wasThere = try await set(app, id, "*", "") == .done
        let fields = [Self.makerPrefix + id, Self.usePrefix + id]
        try await redis.run("HDEL", keys.credentialUses(app), fields.map { .string($0) })
        return wasThere
    }

    /// Keeps the maker of a credential. A revoked credential with the same id had uses of its own.
    public func noteMaker(_ app: AppKey, _ id: String, _ maker: String) async throws(StoreError) {
        let key = keys.credentialUses(app)
        try await redis.run([
            RedisCommand("HSET", key, .string(Self.makerPrefix + id), .string(maker)),
            RedisCommand("HDEL", key, .string(Self.usePrefix + id)),
        ])
    }

    /// - Parameter time: epoch ms
    public func noteUse(_ app: AppKey, _ id: String, at time: Int64) async throws(StoreError) {
        try await redis.run("HSET", keys.credentialUses(app), .string(Self.usePrefix + id), .int(time))
    }

    /// The makers of the credentials, and when these were used last (epoch ms), by id, as far as it is known.
    public func uses(_ app: AppKey) async throws(StoreError) -> (makers: [String: String], uses: [String: Int64]) {
        var (makers, uses) = ([String: String](), [String: Int64]())
        for (field, value) in try await redis.run("HGETALL", keys.credentialUses(app)).pairs() {
            let (field, text) = (try field.string(), try value.string())
            if let id = field.rest(behind: Self.makerPrefix) { makers[String(id)] = text }
            if let id = field.rest(behind: Self.usePrefix) {
                uses[String(id)] = StoredNumber.read(text).map(Int64.init)
            }
        }
        return (makers, uses)
    }

    private func set(
        _ app: AppKey, _ id: String, _ old: RedisArgument, _ new: RedisArgument
    ) async throws(StoreError) -> Change {
        let reply = try await redis.run(
            Lua.credentialSet, keys: ["creds": keys.credentials(app)],
            [
                "field": .string(Self.idPrefix + id), "old": old, "document": new, "most": .int(Self.most),
            ])
        switch try reply.integer() {
        case 1: return .done
        case 2: return .full
        default: return .conflict
        }
    }
}
