import LiveActivity
import OpenSSL
import Redis
import StoreGround

/// Tells whose users dismissed the card of a name: those whose app said so in a receipt, and those whose app removed a
/// card that no `end` of ours had ended (the tombstone in the registry). docs/adr/0007-starts.md has the reasons.
struct Dismissals {
    private static let fingerprintBytes = 8

    let redis: RedisClient
    let keys: Keyspace

    /// Notes receipts, for names that no `end` has closed: a card that is over may be cleared away.
    func note(
        _ app: AppKey, _ found: [(name: ActivityName, channel: [UInt8])], now: Int64
    ) async throws(StoreError) {
        if found.isEmpty { return }
        let byName = Dictionary(grouping: found, by: { $0.name })
        let names = Array(byName.keys)
        let ended = try await redis.run(names.map { RedisCommand("HGET", keys.name(keys.tag(app, $0)), "ended") })
        var commands: [RedisCommand] = []
        for (name, ended) in zip(names, ended) where ended.isNil {
            let key = keys.dismissals(keys.tag(app, name))
            let fields = (byName[name] ?? []).flatMap { [Self.field(name, $0.channel), .int(now)] }
            commands += [
                RedisCommand("HSET", key, fields),
                RedisCommand("PEXPIRE", key, .int(RegistryRecord.Lifetime.activity.retention)),
            ]
        }
        if !commands.isEmpty { try await redis.run(commands) }
    }

    /// The times of receipts for some channels.
    func command(_ app: AppKey, _ name: ActivityName, _ channels: [[UInt8]]) -> RedisCommand {
        RedisCommand("HMGET", keys.dismissals(keys.tag(app, name)), channels.map { Self.field(name, $0) })
    }

    /// Differs from name to name, so that it links no device's cards.
    private static func field(_ name: ActivityName, _ channel: [UInt8]) -> RedisArgument {
        .bytes(Array(SHA256Digest(of: Array(name.rawValue.utf8) + [0] + channel).prefix(fingerprintBytes)))
    }

    /// The end of the last card before a start (epoch ms): what was dismissed before it was another card.
    /// - Parameter ends: field `ends` of the name, `<sequence>:<ms>:<push>` each
    static func lastEnd(_ ends: String?, before sequence: Int) -> Int64 {
        let entries = (ends ?? "").split(separator: " ").map { $0.split(separator: ":") }
        return entries.compactMap { parts in
            guard parts.count == 3, let number = StoredNumber.read(parts[0]), number < sequence else { return nil }
            return StoredNumber.read(parts[1]).map { Int64($0) }
        }.max() ?? 0
    }
}
