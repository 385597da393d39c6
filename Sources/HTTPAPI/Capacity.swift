import LiveActivity
import Synchronization

/// What callers hold at once, counted against limits: requests in work, bodies on their way and their bytes. Each kind of
/// caller has limits of its own, so that devices cannot shut out publishers, and where several apps are served, each has at
/// most half of them, so that one app cannot shut out the others.
final class Capacity: Sendable {
    /// Who holds it, by credential.
    enum Caller: Sendable, Hashable, CaseIterable {
        case master, app, device
        /// `/readyz` and `/metrics`, which ask Redis for anybody.
        case anyone

        init(_ credential: Credential) {
            self =
                switch credential {
                case .master: .master
                case .app: .app
                default: .device
                }
        }
    }

    enum Good: Int, Sendable, CaseIterable {
        case requests, bodies, bytes
    }

    /// Bodies on their way for each request that may be in work: slow ones wait here, where they cost little.
    static let bodiesPerRequest = 4

    private struct Holder: Hashable {
        var caller: Caller
        /// Nil: all apps together.
        var app: AppKey?
    }

    /// By caller, then by good.
    private let limits: [Caller: [Int]]
    private let isShared: Bool
    private let held = Mutex<[Holder: [Int]]>([:])

    /// - Parameter requests: that may be in work at once.
    /// - Parameter bytes: of the bodies that one kind of caller may have in memory.
    init(requests: [Caller: Int], bytes: Int, apps: Int) {
        limits = requests.mapValues { [max(1, $0), max(1, $0) * Self.bodiesPerRequest, bytes] }
        isShared = apps > 1
    }

    func holding(_ caller: Caller, _ app: AppKey?) -> Holding { Holding(capacity: self, caller: caller, app: app) }

    fileprivate func take(_ good: Good, _ amount: Int, _ caller: Caller, _ app: AppKey?) -> Bool {
        let limit = limits[caller]?[good.rawValue] ?? 0
        let all = Holder(caller: caller)
        let own = Holder(caller: caller, app: app)
        return held.withLock { held in
            guard (held[all]?[good.rawValue] ?? 0) + amount <= limit else { return false }
            if isShared, app != nil {
                guard (held[own]?[good.rawValue] ?? 0) + amount <= max(1, limit / 2) else { return false }
                held[own, default: Self.nothing][good.rawValue] += amount
            }
            held[all, default: Self.nothing][good.rawValue] += amount
            return true
        }
    }

    fileprivate func giveBack(_ good: Good, _ amount: Int, _ caller: Caller, _ app: AppKey?) {
        held.withLock { held in
            held[Holder(caller: caller), default: Self.nothing][good.rawValue] -= amount
            if isShared, app != nil {
                held[Holder(caller: caller, app: app), default: Self.nothing][good.rawValue] -= amount
            }
        }
    }

    private static let nothing = [0, 0, 0]

    /// What one request holds; gives it back at its end.
    final class Holding: Sendable {
        private let capacity: Capacity
        private let caller: Caller
        private let app: AppKey?
        private let amounts = Mutex(Capacity.nothing)

        fileprivate init(capacity: Capacity, caller: Caller, app: AppKey?) {
            self.capacity = capacity
            self.caller = caller
            self.app = app
        }

        func take(_ good: Good, _ amount: Int = 1) -> Bool {
            guard capacity.take(good, amount, caller, app) else { return false }
            amounts.withLock { $0[good.rawValue] += amount }
            return true
        }

        func giveBack(_ good: Good) {
            let amount = amounts.withLock { amounts in
                defer { amounts[good.rawValue] = 0 }
                return amounts[good.rawValue]
            }
            if amount > 0 { capacity.giveBack(good, amount, caller, app) }
        }

        func giveBackAll() { Good.allCases.forEach(giveBack) }
    }
}
