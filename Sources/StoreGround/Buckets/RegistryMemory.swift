package import LiveActivity
import Synchronization

/// Facts that the parts of the registry remember between calls: guesses that Redis corrects, except for the hash key.
package final class RegistryMemory: Sendable {
    /// Compared by bytes, as `TokenPlace` is. A string made of it would not be.
    package struct Key: Hashable {
        package let app: AppKey
        package let tokens: TokenPlace

        package init(app: AppKey, tokens: TokenPlace) {
            self.app = app
            self.tokens = tokens
        }
    }
    private struct Name {
        var count = BucketCount.one
        /// When this process last put it into the index of names, epoch ms.
        var listedAt: Int64 = 0
        /// When this process last saw that a channel follows it, epoch ms.
        var followedAt: Int64 = 0
    }
    /// Two generations. A name that is not used during a whole generation is forgotten.
    private struct Names {
        var young: [Key: Name] = [:]
        var old: [Key: Name] = [:]

        mutating func update<Result>(_ key: Key, _ body: (inout Name) -> Result) -> Result {
            if young[key] == nil {
                if young.count >= RegistryMemory.generation { (old, young) = (young, [:]) }
                young[key] = old[key] ?? Name()
            }
            return body(&young[key, default: Name()])
        }
    }

    /// Half of the names that are remembered: a few megabytes.
    package static let generation = 5_000
    /// A name is put into the index again after this many milliseconds, or when its root is new. This is much less than
    /// the shortest life of a root. So a worker that tidies the index has not removed a name that is skipped here.
    static let relistAfter: Int64 = 600_000
    /// A followed name is not asked about again for this many milliseconds.
    static let followedFor: Int64 = 60_000

    private let names = Mutex(Names())
    private let key = Mutex<RegistryHashKey?>(nil)
    private let malformedCount = Atomic<Int>(0)

    package init() {}

    package var hashKey: RegistryHashKey? {
        get { key.withLock { $0 } }
        set { key.withLock { $0 = newValue } }
    }

    package func count(_ key: Key) -> BucketCount {
        names.withLock { $0.young[key]?.count ?? $0.old[key]?.count ?? .one }
    }
    package func remember(_ key: Key, _ count: BucketCount) { names.withLock { $0.update(key) { $0.count = count } } }

    package func needsListing(_ key: Key, now: Int64) -> Bool {
        let listedAt = names.withLock { $0.young[key]?.listedAt ?? $0.old[key]?.listedAt ?? 0 }
        return now - listedAt >= Self.relistAfter || now < listedAt
    }

    package func listed(_ key: Key, at now: Int64) { names.withLock { $0.update(key) { $0.listedAt = now } } }
    package func forgetListing(_ key: Key) { names.withLock { $0.update(key) { $0.listedAt = 0 } } }

    package func isFollowed(_ key: Key, now: Int64) -> Bool {
        let at = names.withLock { $0.young[key]?.followedAt ?? $0.old[key]?.followedAt ?? 0 }
        return (0..<Self.followedFor).contains(now - at)
    }

    package func followed(_ key: Key, at now: Int64) { names.withLock { $0.update(key) { $0.followedAt = now } } }
    package func addMalformed(_ count: Int) { malformedCount.add(count, ordering: .relaxed) }
    package var malformed: Int { malformedCount.load(ordering: .relaxed) }
}
