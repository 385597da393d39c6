import LiveActivity
import Store
import Synchronization

/// Counts of answers that this worker has not yet added to the fleet's counts, by app, platform and minute. The worker
/// adds them when a platform calls a token dead, and by a timer. So answers cost no round trips of their own.
final class VerdictLog: Sendable {
    private let counts = Mutex<[AppPlatform: [Int64: TokenVerdictCounts]]>([:])

    /// Adds a page's answers.
    /// - Parameter now: epoch ms
    func note(_ key: AppPlatform, _ page: TokenVerdictCounts, now: Int64) {
        guard page.answers > 0 else { return }
        counts.withLock { $0[key, default: [:]][now / 60_000, default: TokenVerdictCounts()] += page }
    }

    /// Takes the noted counts, by their age in minutes. Counts of `window` minutes or older are dropped.
    func take(_ key: AppPlatform, now: Int64, window: Int) -> [(age: Int, counts: TokenVerdictCounts)] {
        let taken = counts.withLock { $0.removeValue(forKey: key) ?? [:] }
        return taken.map { (age: Int(max(0, now / 60_000 - $0.key)), counts: $0.value) }
            .filter { $0.age < window }.sorted { $0.age < $1.age }
    }

    /// Puts back counts that could not be added to the fleet's counts.
    /// - Parameter now: the time at which they were taken, epoch ms
    func putBack(_ key: AppPlatform, _ taken: [(age: Int, counts: TokenVerdictCounts)], now: Int64) {
        counts.withLock { counts in
            for (age, page) in taken {
                counts[key, default: [:]][now / 60_000 - Int64(age), default: TokenVerdictCounts()] += page
            }
        }
    }

    var keys: [AppPlatform] { counts.withLock { Array($0.keys) } }
}
