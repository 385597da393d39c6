internal import Logging
internal import Synchronization

/// Asks the sentinels of one URL for the primary: twice a second while a client has connections, and for each new one.
///
/// A demoted primary keeps its connections, and takes writes until a sentinel tells it of its new role. That may take
/// ten seconds, and these writes are lost. So a connection leaves it when the sentinels name another server.
///
/// All connections of a client share one watch. Each sentinel is asked on a connection of its own, so one that is
/// silent does not delay the others. `SentinelAnswer` decides.
final class PrimaryWatch: ServerWatch {
    /// The pause between two questions to a sentinel.
    private static let interval = Duration.milliseconds(500)
    /// The longest wait for one sentinel, because a machine that is off never answers.
    private static let patience = Duration.seconds(2)
    /// How long a new connection waits for slow sentinels when most have answered.
    private static let courtesy = Duration.milliseconds(250)
    /// Answers count for as long, so that a sentinel that went away is soon not counted.
    private static let validity = Duration.seconds(5)

    private struct Sentinel {
        let address: RedisAddress
        /// Nil until it is asked for the first time.
        var node: RedisNode?
        var isAsked = false
        var outcome: Result<SentinelAnswer, RedisError>?
        var heard: ContinuousClock.Instant?
    }
    /// A connection that uses a primary, or that waits for the address of one (nil).
    private struct Guest {
        let mailbox: Mailbox
        var address: RedisAddress?
    }
    private struct State {
        var sentinels: [Sentinel]
        var guests: [ObjectIdentifier: Guest] = [:]
        var isWatching = false
        /// No sentinel answers, and that was logged.
        var isDeaf = false

        /// - Parameter time: earlier answers do not count.
        func answers(since time: ContinuousClock.Instant) -> [SentinelAnswer] {
            sentinels.filter { $0.heard ?? time >= time }.compactMap { try? $0.outcome?.get() }
        }
    }
    private enum ServerStanding {
        case found(RedisAddress)
        case waiting(until: ContinuousClock.Instant)
        case failed(LinkFailure)
    }

    private let name: String
    private let settings: ConnectionSettings
    private let logger: Logger
    private let state: Mutex<State>

    init(_ sentinels: Sentinels, _ settings: ConnectionSettings) {
        name = sentinels.primary
        logger = settings.logger
        var settings = settings.asking("redis-sentinel", patience: Self.patience)
        settings.metrics = .none
        (settings.url.user, settings.url.password, settings.url.database) = (nil, sentinels.password, 0)
        self.settings = settings
        state = Mutex(State(sentinels: sentinels.addresses.map { Sentinel(address: $0) }))
    }

    /// Asks all sentinels for the primary. Blocks the connection's thread until most have answered.
    func primary(for mailbox: Mailbox) throws(LinkFailure) -> RedisAddress? {
        let began = ContinuousClock.now
        state.withLock { $0.guests[ObjectIdentifier(mailbox)] = Guest(mailbox: mailbox) }
        askAll()
        while true {
            switch standing(since: began) {
            case .found(let address): return address
            case .failed(let failure):
                leave(mailbox)
                throw failure
            case .waiting(let until):
                do throws(LinkFailure) { _ = try mailbox.wait(for: -1, 0, until: until) } catch {
                    leave(mailbox)
                    throw error
                }
            }
        }
    }

    func follow(_ mailbox: Mailbox, at address: RedisAddress) {
        let mustStart = state.withLock { state in
            state.guests[ObjectIdentifier(mailbox)] = Guest(mailbox: mailbox, address: address)
            defer { state.isWatching = true }
            return !state.isWatching
        }
        // An answer may have come since the address was found.
        mailbox.tellNews()
        if mustStart { Task.detached { await self.watch() } }
    }

    func leave(_ mailbox: Mailbox) { state.withLock { _ = $0.guests.removeValue(forKey: ObjectIdentifier(mailbox)) } }

    func objection(to address: RedisAddress) -> String? {
        state.withLock { $0.answers(since: .now - Self.validity) }.objection(to: address, isInUse: true)
    }

    private func watch() async {
        func isNeeded() -> Bool {
            state.withLock { state in
                state.isWatching = !state.guests.isEmpty
                return state.isWatching
            }
        }
        while isNeeded() {
            askAll()
            try? await Task.sleep(for: Self.interval)
        }
    }

    private func askAll() {
        let asked = state.withLock { state in
            state.sentinels.indices.compactMap { index -> (Int, RedisNode)? in
                if state.sentinels[index].isAsked { return nil }
                let node =
                    state.sentinels[index].node
                    ?? RedisNode(settings.at(state.sentinels[index].address), connections: 1)
                state.sentinels[index].node = node
                state.sentinels[index].isAsked = true
                return (index, node)
            }
        }
        for (index, node) in asked {
            Task.detached { [self] in
                do throws(RedisError) {
                    let replies = try await node.pipeline(SentinelAnswer.questions(name))
                    heard(.success(try SentinelAnswer(replies, name: name)), from: index)
                } catch { heard(.failure(error), from: index) }
            }
        }
    }

    private func heard(_ outcome: Result<SentinelAnswer, RedisError>, from index: Int) {
        let now = ContinuousClock.now
        let (told, change) = state.withLock { state in
            state.sentinels[index].outcome = outcome
            state.sentinels[index].heard = now
            state.sentinels[index].isAsked = false
            let answers = state.answers(since: now - Self.validity)
            let told = state.guests.values.filter { guest in
                guest.address.map { answers.objection(to: $0, isInUse: true) != nil } ?? true
            }
            let isDeaf = answers.isEmpty && state.guests.values.contains { $0.address != nil }
            defer { if isDeaf || !answers.isEmpty { state.isDeaf = isDeaf } }
            return (told, isDeaf != state.isDeaf && (isDeaf || !answers.isEmpty) ? isDeaf : nil)
        }
        for guest in told { guest.mailbox.tellNews() }
        if change == true, case .failure(let error) = outcome {
            logger.warning(
                "no sentinel answers: a failover would not be noticed, connections stay",
                metadata: ["error": "\(error)"])
        } else if change == false {
            logger.notice("the sentinels answer again")
        }
    }

    private func standing(since began: ContinuousClock.Instant) -> ServerStanding {
        let sentinels = state.withLock { $0.sentinels }
        func isNew(_ sentinel: Sentinel) -> Bool { sentinel.heard.map { $0 >= began } ?? false }
        let answers = sentinels.filter(isNew).compactMap { try? $0.outcome?.get() }
        let now = ContinuousClock.now
        if !sentinels.allSatisfy(isNew) {
            if now < began + Self.courtesy { return .waiting(until: began + Self.courtesy) }
            // Do not wait for a sentinel that was away before: its own reconnecting takes time.
            let isMissing = sentinels.contains { sentinel in
                if case .failure = sentinel.outcome { return false }
                return !isNew(sentinel)
            }
            if answers.isEmpty || isMissing && 2 * answers.count <= sentinels.count {
                return .waiting(until: now + Self.patience)
            }
        }
        guard let primary = answers.primary() else { return .failed(failure(of: sentinels)) }
        if let objection = answers.objection(to: primary, isInUse: false) {
            return .failed(.refused(.noPrimary("the primary at \(primary): \(objection)")))
        }
        return .found(primary)
    }

    /// One failure for all sentinels. TLS failures carry a remedy, so they go first.
    private func failure(of sentinels: [Sentinel]) -> LinkFailure {
        var texts: [String] = []
        var remedy: String?
        for sentinel in sentinels {
            guard case .failure(let error) = sentinel.outcome else { continue }
            var why = error.why
            let place = "\(settings.at(sentinel.address).url): "
            if why.hasPrefix(place) { why.removeFirst(place.count) }
            if case .insecure(_, let what) = error { remedy = what }
            if case .server("NOAUTH", _) = error { why += " (append ?sentinel_password=… to redis.url)" }
            texts.append("sentinel \(sentinel.address): \(why)")
        }
        let text = texts.joined(separator: "; ")
        if let remedy { return .insecure(text, remedy: remedy) }
        // One that was made anew may not know the name yet, but most of them know what they watch.
        let unknowing = sentinels.count { sentinel in
            if case .failure(.server("NOMASTER", _)) = sentinel.outcome { true } else { false }
        }
        return 2 * unknowing > sentinels.count ? .refused(.unknownPrimary(text)) : .broken(text)
    }
}
