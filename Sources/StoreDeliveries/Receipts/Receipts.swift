public import LiveActivity
import OpenSSL
package import Redis
public import StoreGround

/// Counts receipts: each device once for each push and event. The counts are fields of the push, so that each read of a
/// ledger has them too. docs/adr/0021-receipts.md has the reasons.
public struct Receipts: Sendable {
    /// Up to this number a count is exact. Above it is an estimate by a HyperLogLog, with a standard error of 0.8 %.
    static let mostExact = 1_000
    /// How long after its acceptance a push counts receipts. Then Redis forgets which devices were counted, but not how
    /// many. A card lives for 12 hours at most.
    static let window: Duration = .seconds(24 * 3_600)
    /// Bytes of the digest that stands for a device of a push.
    private static let fingerprintBytes = 8

    package let redis: RedisClient
    package let keys: Keyspace
    package let index: PushIndex
    package let time: ServerTime

    package init(redis: RedisClient, keys: Keyspace, index: PushIndex, time: ServerTime) {
        self.redis = redis
        self.keys = keys
        self.index = index
        self.time = time
    }

    /// - Parameter now: time of the receipts, epoch ms. Nil is Redis's own.
    public func count(
        _ app: AppKey, _ receipts: [Receipt], now: Int64? = nil
    ) async throws(StoreError) -> ReceiptTally {
        var tally = ReceiptTally()
        let byPush = Dictionary(grouping: receipts, by: \.push)
        let pushes = Array(byPush.keys)
        var dismissed: [(name: ActivityName, channel: [UInt8])] = []
        var counted: [(command: RedisCommand, receipts: Int)] = []
        let names = try await index.names(of: pushes, app)
        for (push, name) in zip(pushes, names) {
            let receipts = byPush[push] ?? []
            if let name {
                counted.append((command(app, name, push, receipts, now), receipts.count))
                for receipt in receipts where receipt.event == .dismissed {
                    dismissed.append((name, receipt.channel.stored))
                }
            } else {
                tally.unknown += receipts.count
            }
        }
        let replies = try await redis.run(counted.map(\.command))
        for (reply, part) in zip(replies, counted) {
            switch try reply.string() {
            case "ok": tally.accepted += part.receipts
            case "late": tally.late += part.receipts
            case "unknown": tally.unknown += part.receipts
            case let other: throw .unexpectedReply("receipt-count answered \(other)")
            }
        }
        try await Dismissals(redis: redis, keys: keys).note(app, dismissed, now: now ?? time.now())
        return tally
    }

    private func command(
        _ app: AppKey, _ name: ActivityName, _ push: PushID, _ receipts: [Receipt], _ now: Int64?
    ) -> RedisCommand {
        let tag = keys.tag(app, name)
        func key(_ event: ReceiptEvent) -> RedisKey { keys.receipts(tag, push, event) }
        return RedisCommand(
            Lua.receiptCount,
            keys: [
                "n": keys.name(tag), "p": keys.push(tag, push), "pk": keys.keptPushes(tag, push), "shown": key(.shown),
                "ended": key(.ended), "dismissed": key(.dismissed),
            ],
            [
                "at": now.map { .int($0) } ?? "", "most": .int(Self.mostExact),
                "window": .int(Self.window.milliseconds),
            ],
            rest: receipts.map { .bytes($0.event.rawValue.utf8.prefix(1) + Self.fingerprint($0)) })
    }

    /// Differs from push to push, so that it links no device's receipts.
    private static func fingerprint(_ receipt: Receipt) -> [UInt8] {
        Array(SHA256Digest(of: receipt.push.uuid.bytes + receipt.channel.stored).prefix(fingerprintBytes))
    }
}
