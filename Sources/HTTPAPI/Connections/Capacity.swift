import LiveActivity
import Synchronization

/// Limits what callers use at the same time: running requests, bodies in transit, and the bytes of bodies. Each kind of
/// caller has its own limits, so that devices cannot block publishers. One app of several has at most half of a limit.
/// One network has a part of the bodies in transit of callers whom everybody can be.
final class Capacity: Sendable {
    enum Caller: Sendable, Hashable, CaseIterable {
        case master, app, device
        /// Callers of `/readyz` and `/metrics`. These ask Redis and need no secret.
        case anyone
        /// A browser that is signed in to the console, and one that is not. Their calls of the API count besides.
        case console, signIn

        /// One network has at most this part of the bodies in transit. Nil: as many as it wants, because the secret is
        /// not in the app, or because a session is signed in.
        fileprivate var networkPart: Int? {
            switch self {
            case .app, .device: 8
            case .signIn: 16
            case .master, .anyone, .console: nil
            }
        }
    }

    enum Resource: Int, Sendable, CaseIterable { case requests, bodies, bytes, streams }

    /// The most bodies in transit for each request that may run. A slow body waits here, where it costs little.
    static let bodiesPerRequest = 4
    /// The most files that the console makes at once: each is a whole list.
    static let filesOfConsole = 2

    private struct CallerKey: Hashable {
        var caller: Caller
        /// The app whose calls are counted. Nil: all apps together.
        var app: AppKey?
        /// The network whose calls are counted. Nil: all networks together.
        var network: String?
    }

    /// The limits by caller, then by `Resource`.
    private let limits: [Caller: [Int]]
    private let isShared: Bool
    private let used = Mutex<[CallerKey: [Int]]>([:])

    /// Each kind of caller may run `requests` at once and have `bytes` of bodies in memory. At most `streams` of the
    /// requests read a body without an end.
    init(requests: [Caller: Int], bytes: Int, streams: Int = 64, apps: Int) {
        limits = Dictionary(
            uniqueKeysWithValues: requests.map { caller, count in
                let (count, streams) = (max(1, count), caller == .console ? Self.filesOfConsole : max(1, streams))
                return (caller, [count, count * Self.bodiesPerRequest, bytes, streams])
            })
        isShared = apps > 1
    }

    func hasLimits(of other: Capacity) -> Bool { limits == other.limits && isShared == other.isShared }

    /// - Parameter network: of the caller; nil: it is an operator on this machine, or its network does not matter
    func share(of caller: Caller, _ app: AppKey?, network: String? = nil) -> Share {
        Share(capacity: self, caller: caller, app: app, network: network)
    }

    /// - Returns: false, and changes nothing, if the caller or the app would be above its limit.
    fileprivate func change(
        _ resource: Resource, by amount: Int, _ caller: Caller, _ app: AppKey?, _ network: String?
    ) -> Bool {
        let limit = limits[caller]?[resource.rawValue] ?? 0
        var keys = [(key: CallerKey(caller: caller), limit: limit)]
        if isShared, app != nil { keys.append((CallerKey(caller: caller, app: app), max(1, limit / 2))) }
        if let network, resource == .bodies, let part = caller.networkPart {
            keys.append((CallerKey(caller: caller, network: network), max(1, limit / part)))
        }
        return used.withLock { used in
            let isWithin = keys.allSatisfy { (used[$0.key]?[resource.rawValue] ?? 0) + amount <= $0.limit }
            guard amount < 0 || isWithin else { return false }
            for (key, _) in keys {
                used[key, default: Self.nothing][resource.rawValue] += amount
                // Networks come and go.
                if key.network != nil, used[key] == Self.nothing { used[key] = nil }
            }
            return true
        }
    }

    private static let nothing = [0, 0, 0, 0]

    /// The share that one request uses. The request gives it back at its end.
    final class Share: Sendable {
        private let capacity: Capacity
        private let caller: Caller
        private let app: AppKey?
        private let network: String?
        private let amounts = Mutex(Capacity.nothing)

        fileprivate init(capacity: Capacity, caller: Caller, app: AppKey?, network: String?) {
            self.capacity = capacity
            self.caller = caller
            self.app = app
            self.network = network
        }

        /// An answer that has a share may never be read.
        deinit { giveBackAll() }

        func take(_ resource: Resource, _ amount: Int = 1) -> Bool {
            guard capacity.change(resource, by: amount, caller, app, network) else { return false }
            amounts.withLock { $0[resource.rawValue] += amount }
            return true
        }

        func giveBack(_ resource: Resource) {
            let amount = amounts.withLock { amounts in
                defer { amounts[resource.rawValue] = 0 }
                return amounts[resource.rawValue]
            }
            if amount > 0 { _ = capacity.change(resource, by: -amount, caller, app, network) }
        }

        func giveBackAll() { Resource.allCases.forEach(giveBack) }
    }
}
