import LiveActivity
import Store

/// Sums up frequent actions: the first action of a caller is told at once, later ones as one entry a minute. A value
/// without clock.
struct ActionSums {
    /// One caller's requests of one kind.
    private struct Key: Hashable {
        var app: AppKey
        var kind: String
        var credential: String
        var address: String
        var who: String?
        var whoID: String?
        var failed: Int?
    }

    private struct Sum {
        var since: ContinuousClock.Instant
        /// The actions since the last log entry, as one action. Nil: there were none.
        var action: Action?
    }

    static let period: Duration = .seconds(60)
    /// The most callers that are summed up. Actions of others are told one by one.
    private static let mostCallers = 4_096
    private var sums: [Key: Sum] = [:]

    /// - Returns: the action if it is to be told now.
    mutating func take(_ action: Action, of app: AppKey, at now: ContinuousClock.Instant) -> Action? {
        let key = Key(
            app: app, kind: action.kind, credential: action.credential, address: action.address, who: action.who,
            whoID: action.whoID, failed: action.failed)
        guard var sum = sums[key] else {
            if sums.count < Self.mostCallers { sums[key] = Sum(since: now) }
            return action
        }
        sum.action = sum.action.map { $0.adding(action) } ?? action
        sums[key] = sum
        return nil
    }

    /// The sums whose minute is over; `all`: every sum.
    mutating func over(at now: ContinuousClock.Instant, all: Bool = false) -> [(app: AppKey, action: Action)] {
        var told: [(app: AppKey, action: Action)] = []
        for (key, sum) in sums where all || sum.since + Self.period <= now {
            if let action = sum.action {
                told.append((key.app, action))
                sums[key] = Sum(since: now)
            } else {
                sums[key] = nil
            }
        }
        return told
    }
}

extension Action {
    /// One action for both. It names a thing that both are about, and the first and the last push.
    fileprivate func adding(_ other: Action) -> Action {
        var sum = other
        sum.count = count + other.count
        sum.subjects = subjects.filter { other.subjects[$0.key] == $0.value }
        sum.subjects[.push] = subjects[.push] ?? other.subjects[.push]
        sum.subjects[.lastPush] = other.subjects[.lastPush] ?? other.subjects[.push]
        return sum
    }
}
