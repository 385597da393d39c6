import LiveActivity
import Synchronization

/// Limits what callers use at the same time: running requests, bodies that are being received, and the bytes of bodies.
///
/// Each kind of caller has its own limits, so that devices cannot block publishers. Where several apps are served, each
/// app has at most half of each limit, so that one app cannot block the others.
final class Capacity: Sendable {
    /// The kind of caller, by credential.
    enum Caller: Sendable, Hashable, CaseIterable {
        case master, app, device
        /// Callers of `/readyz` and `/metrics`. These ask Redis and need no secret.
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

    /// The most bodies in transit for each request that may run. A slow body waits here, where it costs little.
    static let bodiesPerRequest = 4

    private struct Holder: Hashable {
        var caller: Caller
        /// Nil stands for all apps together.
        var app: AppKey?
    }

    /// By caller, then by `Good`.
    private let limits: [Caller: [Int]]
    private let isShared: Bool
    private let held = Mutex<[Holder: [Int]]>([:])

    /// Sets the limits.
    ///
    /// - Parameters:
    ///   - requests: the most requests of each kind of caller that may run at once.
    ///   - bytes: the most bytes of bodies in memory for one kind of caller.
    ///   - apps: how many apps are served.
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

    /// The share that one request uses. The request gives it back at its end.
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
