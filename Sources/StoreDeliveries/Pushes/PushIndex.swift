package import LiveActivity
package import Redis
package import StoreGround
import Synchronization

/// An app's pushes: where a push is, and which pushes there were. For each hour there is a sorted set with equal
/// scores, so in byte order, of id and name. The hour is the hour of the id. A push that is accepted more than an hour
/// after its id was made, as schedules are, is also in the hour of its acceptance, where the history shows it.
/// docs/adr/0020-history.md has the reasons.
///
/// An entry of a large sorted set takes four times its bytes. So entries that are some seconds old are packed: 64 of
/// them, in their order, become a block in a second sorted set (docs/adr/0053-forms-of-a-push.md). Each entry is in the
/// one or in the other, and a script moves it. Readers ask for the entries first, because nothing moves back.
package struct PushIndex: Sendable {
    static let hour: Int64 = 3_600_000
    /// After the last push that joined a set, the set lives an hour longer than the push, so that not every push has to
    /// prolong its life.
    private static let renewal = hour / 2
    /// Entries of a block. A look for one reads a whole block.
    static let blockSize = 64
    /// Most blocks that one script makes. It takes a millisecond then.
    private static let mostBlocks = 16
    /// Redis keeps a sorted set compact up to so many entries.
    private static let fewEntries = 128
    /// Ids are packed when they are so old, ms. An id that comes later than others that are packed stays an entry. A
    /// publish that asks replicas, or is refused, finds its entry as it wrote it.
    static let packedAfter: Int64 = 10_000

    package let redis: RedisClient
    package let keys: Keyspace
    private let recent = Recent()

    /// One sorted set with its blocks: an hour since 1970 of an app, or in a cluster a slice of it.
    struct IndexSlice: Hashable {
        var app: AppKey
        var hour: Int64
        var slice: Int
    }

    /// The entries that this process noted in each set lately. Two generations.
    private final class Recent: Sendable {
        private struct Noted {
            /// When the set's life was last prolonged, epoch ms.
            var renewedAt: Int64?
            var entries = 0
        }
        private static let generation = 1_000
        private let sets = Mutex<(young: [RedisKey: Noted], old: [RedisKey: Noted])>(([:], [:]))

        /// Counts an entry.
        /// - Returns: whether the set's life is to be prolonged. The caller does so if it is.
        func note(_ set: RedisKey, now: Int64) -> Bool {
            sets.withLock { sets in
                var noted = sets.young[set] ?? sets.old[set] ?? Noted()
                let isAlive = noted.renewedAt.map { (0..<PushIndex.renewal).contains(now - $0) } ?? false
                if !isAlive { noted.renewedAt = now }
                noted.entries += 1
                if sets.young.count >= Self.generation { sets = ([:], sets.young) }
                sets.young[set] = noted
                return !isAlive
            }
        }

        /// How many entries were noted in the set.
        func entries(_ set: RedisKey) -> Int {
            sets.withLock { ($0.young[set] ?? $0.old[set])?.entries ?? 0 }
        }

        /// The set may be gone, and with it how long it lives.
        func mayBeGone(_ set: RedisKey) {
            sets.withLock { sets in
                sets.young[set]?.renewedAt = nil
                sets.old[set]?.renewedAt = nil
            }
        }
    }

    package init(redis: RedisClient, keys: Keyspace) {
        self.redis = redis
        self.keys = keys
    }

    /// The set that has the push by its id.
    package func key(_ app: AppKey, _ id: PushID) -> RedisKey { entries(place(app, id)) }

    func entries(_ place: IndexSlice) -> RedisKey { keys.pushIndex(place.app, hour: place.hour, slice: place.slice) }
    func blocks(_ place: IndexSlice) -> RedisKey { keys.pushBlocks(place.app, hour: place.hour, slice: place.slice) }
    func packed(_ place: IndexSlice) -> RedisKey { keys.packedPushes(place.app, hour: place.hour, slice: place.slice) }

    func place(_ app: AppKey, _ id: PushID) -> IndexSlice { place(app, id, at: id.uuid.time) }
    func place(_ app: AppKey, _ id: PushID, at time: Int64) -> IndexSlice {
        IndexSlice(app: app, hour: time / Self.hour, slice: Int(id.uuid.low % UInt64(keys.partitions)))
    }

    /// How long a set lives after its life was prolonged.
    package var life: Int64 { keys.retention + Self.hour }

    /// The commands that put a push into the index, before its commit.
    package func note(_ app: AppKey, _ id: PushID, _ name: ActivityName, now: Int64) -> [RedisCommand] {
        let member = Self.member(id, name)
        return places(app, id, acceptedAt: now).flatMap { place in
            let set = entries(place)
            return [RedisCommand("ZADD", set, "1", member)]
                + (recent.note(set, now: now) ? [RedisCommand("PEXPIRE", set, .int(life))] : [])
        }
    }

    /// The command that packs what the set of a push has by now. Once for some pushes of this process, after `note`. An
    /// hour is packed for the last time when the next one has some pushes.
    package func packing(_ app: AppKey, _ id: PushID, now: Int64) -> [RedisCommand] {
        let shown = place(app, id, at: Self.isLate(id, acceptedAt: now) ? now : id.uuid.time)
        let noted = recent.entries(entries(shown))
        if noted == Self.blockSize / 2 { return [pack(place(app, id, at: (shown.hour - 1) * Self.hour), before: nil)] }
        return noted % Self.blockSize == 0 ? [pack(shown, before: now - Self.packedAfter)] : []
    }

    /// - Parameter time: ids before it are packed. Nil: the hour is over.
    func pack(_ place: IndexSlice, before time: Int64?) -> RedisCommand {
        let before = time.map { Array("(".utf8) + UUIDBytes(high: UInt64(max(0, $0)) << 16, low: 0).bytes }
        return RedisCommand(
            Lua.indexPack, keys: ["entries": entries(place), "blocks": blocks(place), "number": packed(place)],
            [
                "before": .bytes(before ?? Array("+".utf8)), "size": .int(Self.blockSize),
                "most": .int(Self.mostBlocks), "few": .int(Self.fewEntries), "isOver": time == nil ? "1" : "0",
            ])
    }

    /// Show that the server still has the entry, and write something for the replicas to confirm.
    func proofs(_ app: AppKey, _ id: PushID, _ name: ActivityName) -> [RedisCommand] {
        let set = key(app, id)
        return [RedisCommand("ZSCORE", set, Self.member(id, name)), ReplicaWait.proof(set, life: life)]
    }

    private static func member(_ id: PushID, _ name: ActivityName) -> RedisArgument {
        .bytes(id.uuid.bytes + Array(name.rawValue.utf8))
    }

    /// The command that takes a push out again, because it was not committed. It was written just now, so no block has
    /// it.
    package func drop(_ app: AppKey, _ id: PushID, _ name: ActivityName) -> RedisCommand {
        drop(place(app, id), id, name)
    }

    private func drop(_ place: IndexSlice, _ id: PushID, _ name: ActivityName) -> RedisCommand {
        recent.mayBeGone(entries(place))
        return RedisCommand("ZREM", entries(place), Self.member(id, name))
    }

    /// The commands that take a repeated publish out of the hour of its repetition, where it was noted just now.
    func drops(
        _ app: AppKey, _ id: PushID, _ name: ActivityName, repeatedAt time: Int64, acceptedAt: Int64
    ) -> [RedisCommand] {
        let right = places(app, id, acceptedAt: acceptedAt)
        return places(app, id, acceptedAt: time).filter { !right.contains($0) }.map { drop($0, id, name) }
    }

    /// The commands that take out all entries of pushes that are gone.
    func drops(
        _ app: AppKey, _ pushes: [(id: PushID, name: ActivityName, acceptedAt: Int64)]
    ) -> [RedisCommand] {
        var gone: [IndexSlice: [(id: PushID, name: ActivityName)]] = [:]
        for push in pushes {
            for place in places(app, push.id, acceptedAt: push.acceptedAt) {
                gone[place, default: []].append((push.id, push.name))
            }
        }
        return gone.flatMap { place, pushes in
            [
                RedisCommand("ZREM", entries(place), pushes.map { Self.member($0.id, $0.name) }),
                RedisCommand(
                    Lua.indexDrop, keys: ["blocks": blocks(place), "number": packed(place)],
                    rest: pushes.map { .bytes($0.id.uuid.bytes) }),
            ]
        }
    }

    /// The sets that have a push.
    private func places(_ app: AppKey, _ id: PushID, acceptedAt time: Int64) -> [IndexSlice] {
        [place(app, id)] + (Self.isLate(id, acceptedAt: time) ? [place(app, id, at: time)] : [])
    }

    static func isLate(_ id: PushID, acceptedAt time: Int64) -> Bool { abs(time - id.uuid.time) > hour }
}
