internal import Logging
internal import Synchronization

/// The map of a cluster's slots. Any node can report it, and it is kept while no node answers.
///
/// It is read again when a command went to the wrong node, or when a node does not answer. This is rare, so each
/// request for the map uses a connection of its own. `TopologyWatch` also looks at it once a second, on others that
/// stay.
final class Topology: Sendable {
    private struct State {
        var map: SlotMap?
        /// Nodes with a problem. They are asked last.
        var suspects: Set<RedisAddress> = []
        /// The node that a redirection named. It is asked first.
        var hint: RedisAddress?
        var isWatched = false
        var isAsking = false
        var asked: ContinuousClock.Instant?
        var failures = 0
        var waiting: [CheckedContinuation<RedisError?, Never>] = []
    }

    /// How often one command may be redirected, or sent again because its node was unreachable.
    static let mostRedirections = 5
    /// The least time between two requests, however many commands are redirected.
    private static let pause = Duration.milliseconds(500)
    /// The longest wait for one node, because a machine that is off never answers.
    private static let patience = Duration.seconds(2)

    private let seeds: [RedisAddress]
    let settings: ConnectionSettings
    private let logger: Logger
    private let state = Mutex(State())

    init(seeds: [RedisAddress], _ settings: ConnectionSettings) {
        self.seeds = seeds
        self.settings = settings.asking("redis-cluster", patience: Self.patience)
        logger = settings.logger
    }

    /// The current map. Requests the first one if there is none yet.
    func map() async throws(RedisError) -> SlotMap {
        while true {
            if let map = known { return map }
            if let error = await refresh() { throw error }
        }
    }

    var known: SlotMap? { state.withLock { $0.map } }

    /// Notes that a node reported a slot's new owner. This is used until the next request.
    func moved(_ slot: HashSlot, to address: RedisAddress) {
        let isNew = state.withLock { state in
            guard state.map?[slot] != address else { return false }
            state.map?.move(slot, to: address)
            state.hint = address
            return true
        }
        if isNew { refreshSoon() }
    }

    /// Notes that a node does not serve a slot that it should serve.
    func suspect(_ address: RedisAddress) {
        state.withLock { _ = $0.suspects.insert(address) }
        refreshSoon()
    }

    /// Requests the map without waiting for it.
    private func refreshSoon() { if state.withLock({ Self.begin(&$0) }) { Task.detached { await self.ask() } } }

    /// Requests the map and waits. Callers share one request.
    /// - Returns: the error, if the request failed.
    func refresh(suspecting suspect: RedisAddress? = nil) async -> RedisError? {
        await withCheckedContinuation { continuation in
            let mustAsk = state.withLock { state in
                state.waiting.append(continuation)
                if let suspect { state.suspects.insert(suspect) }
                return Self.begin(&state)
            }
            if mustAsk { Task.detached { await self.ask() } }
        }
    }

    private static func begin(_ state: inout State) -> Bool {
        defer { state.isAsking = true }
        return !state.isAsking
    }

    private func ask() async {
        let clock = ContinuousClock()
        if let asked = state.withLock({ $0.asked }) { try? await clock.sleep(until: asked + Self.pause) }
        let outcome = await answer()
        let (waiting, failures, mustWatch) = state.withLock { state in
            let failures = state.failures
            state.failures = 0
            var mustWatch = false
            switch outcome {
            case .success(let map):
                state.map = map
                state.suspects = []
                state.hint = nil
                mustWatch = !state.isWatched
                state.isWatched = true
            case .failure: state.failures = failures + 1
            }
            state.isAsking = false
            state.asked = clock.now
            defer { state.waiting = [] }
            return (state.waiting, failures, mustWatch)
        }
        if mustWatch { TopologyWatch.start(self) }
        var failure: RedisError?
        if case .failure(let error) = outcome {
            failure = error
            if failures == 0 {
                logger.warning("no node of the Redis cluster answers with its slots", metadata: ["error": "\(error)"])
            }
        } else if failures > 0 {
            logger.notice("the Redis cluster answers with its slots again")
        }
        for continuation in waiting { continuation.resume(returning: failure) }
    }

    /// Returns the first map that a node reports, else the most telling error: an error reply or TLS error, if any.
    private func answer() async -> Result<SlotMap, RedisError> {
        var failures: [String] = []
        var refusal: RedisError?
        for address in candidates {
            let node = RedisNode(settings.at(address), connections: 1)
            defer { node.close() }
            do throws(RedisError) { return .success(try await ask(node, at: address)) } catch {
                switch error {
                case .server, .insecure: refusal = refusal ?? error
                default: break
                }
                failures.append(error.why)
            }
        }
        return .failure(refusal ?? .unreachable(failures.joined(separator: "; ")))
    }

    /// The nodes of the map, except those with a problem.
    var healthyNodes: [RedisAddress] {
        state.withLock { state in
            ((state.map?.primaries ?? []) + (state.map?.replicas ?? [])).filter { !state.suspects.contains($0) }
        }
    }

    /// Takes a newer map, unless one is being requested now.
    func adopt(_ map: SlotMap) { state.withLock { if !$0.isAsking { $0.map = map } } }

    private var candidates: [RedisAddress] {
        let (map, hint, suspects) = state.withLock { ($0.map, $0.hint, $0.suspects) }
        var seen: Set<RedisAddress> = []
        let all = ((hint.map { [$0] } ?? []) + (map?.primaries ?? []) + (map?.replicas ?? []) + seeds)
            .filter { seen.insert($0).inserted }
        return all.filter { !suspects.contains($0) } + all.filter { suspects.contains($0) }
    }

    func ask(_ node: RedisNode, at address: RedisAddress) async throws(RedisError) -> SlotMap {
        let reply = try await node.pipeline([RedisCommand("CLUSTER", ["SLOTS"])])[0]
        if case .server(let code, let message) = reply.error {
            guard message.contains("cluster support disabled") else { throw .server(code: code, message: message) }
            throw .server(code: "NOCLUSTER", message: "\(address) is a single server and no node of a cluster")
        }
        let map = try SlotMap(reply, asked: address)
        guard !map.primaries.isEmpty else { throw .unreachable("\(address) knows of no node with slots") }
        return map
    }
}

extension Topology {
    /// Updates the map after an error reply. Returns a redirection that the caller must follow.
    func judge(_ error: RedisError?, at address: RedisAddress) -> Redirection? {
        guard case .server(let code, _) = error else { return nil }
        if let redirection = Redirection(error, from: address) {
            if !redirection.isAsking { moved(redirection.slot, to: redirection.address) }
            return redirection
        }
        if ["MOVED", "CLUSTERDOWN", "READONLY", "MASTERDOWN"].contains(code) { suspect(address) }
        return nil
    }

    /// The node that should get a failed command instead of `address`, after the cluster was asked again.
    /// - Returns: nil if there is no such node, or if the command may have been executed.
    func owner(of slot: HashSlot, insteadOf address: RedisAddress, _ error: RedisError) async -> RedisAddress? {
        switch error {
        case .unreachable:
            _ = await refresh(suspecting: address)
            let owner = known?[slot]
            return owner == address ? nil : owner
        case .lost:
            suspect(address)
            return nil
        case .insecure, .server, .unexpectedReply, .unroutable, .closed: return nil
        }
    }

    /// Calls `send` with the node that owns the slot, and again with each node that a redirection names.
    /// - Parameter send: throws an error reply.
    func follow<Reply>(
        _ slot: HashSlot, _ send: (_ address: RedisAddress, _ isAsking: Bool) async throws(RedisError) -> Reply
    ) async throws(RedisError) -> Reply {
        guard var address = try await map()[slot] else { throw RedisError(reply: Self.unserved(slot)) }
        var isAsking = false
        for _ in 0...Self.mostRedirections {
            do throws(RedisError) { return try await send(address, isAsking) } catch {
                if let redirection = judge(error, at: address) {
                    (address, isAsking) = (redirection.address, redirection.isAsking)
                    continue
                }
                if let unusable = Redirection.unusable(error, from: address) { throw unusable }
                isAsking = false
                // The keys moved while the command waited. The old node names the new one when it is asked again.
                if case .server("UNBLOCKED", _) = error { continue }
                guard let owner = await owner(of: slot, insteadOf: address, error) else { throw error }
                address = owner
            }
        }
        throw RedisError(reply: Self.astray(slot))
    }

    /// An error in the form that a node uses when its cluster has lost a part.
    static func unserved(_ slot: HashSlot) -> String { "CLUSTERDOWN no node serves \(slot)" }

    static func astray(_ slot: HashSlot) -> String {
        "TRYAGAIN \(slot) was found at no node in \(mostRedirections) redirections"
    }
}

extension ConnectionSettings {
    /// These settings for one node of the cluster.
    func at(_ address: RedisAddress) -> ConnectionSettings {
        var settings = self
        settings.url.servers = .server(address)
        return settings
    }
}

extension RedisError {
    /// The text without the words about the kind of error, for use inside another error.
    public var why: String {
        switch self {
        case .unreachable(let why), .insecure(let why, _), .lost(let why), .unexpectedReply(let why),
            .unroutable(let why), .server(_, let why):
            why
        case .closed: description
        }
    }
}
