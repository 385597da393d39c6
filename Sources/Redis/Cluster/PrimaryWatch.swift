internal import Logging
internal import Synchronization

/// Asks the sentinels of one URL for the primary: twice a second while a client has connections, and for each new one.
///
/// A demoted primary keeps its connections, and takes writes until a sentinel tells it of its new role. The sentinel
/// may take ten seconds, and the writes of this time are lost. So a connection leaves it when the sentinels name
/// another server.
///
/// All connections of a client share one watch. Each sentinel is asked on a connection of its own, so one that is
/// silent does not delay the others. `SentinelPoll` decides.
final class PrimaryWatch: ServerWatch {
    /// The pause between two questions to a sentinel.
    private static let interval = Duration.milliseconds(500)

    private struct State {
        var poll: SentinelPoll
        var connections = WatchedConnections()
        /// By the sentinel's index, from its first question on.
        var nodes: [Int: RedisNode] = [:]
    }

    private let name: String
    private let settings: ConnectionSettings
    private let logger: Logger
    private let state: Mutex<State>

    init(_ sentinels: Sentinels, _ settings: ConnectionSettings) {
        name = sentinels.primary
        logger = settings.logger
        var settings = settings.asking("redis-sentinel", patience: SentinelPoll.patience)
        settings.metrics = .none
        (settings.url.user, settings.url.password, settings.url.database) = (nil, sentinels.password, 0)
        self.settings = settings
        state = Mutex(State(poll: SentinelPoll(sentinels.addresses)))
    }

    /// Asks all sentinels for the primary. Blocks the connection's thread until most have answered.
    func primary(for mailbox: Mailbox) throws(LinkFailure) -> RedisAddress? {
        let began = ContinuousClock.now
        state.withLock { $0.connections.wait(mailbox) }
        askAll()
        while true {
            let poll = state.withLock(\.poll)
            do throws(LinkFailure) {
                switch poll.verdict(since: began, now: .now) {
                case .found(let address): return address
                case .waiting(let until): _ = try mailbox.wait(for: -1, 0, until: until)
                case .objection(let why): throw .refused(.noPrimary(why))
                case .unknown: throw failure(of: poll.sentinels)
                }
            } catch {
                leave(mailbox)
                throw error
            }
        }
    }

    func follow(_ mailbox: Mailbox, at address: RedisAddress) {
        let mustStart = state.withLock { $0.connections.follow(mailbox, at: address) }
        // An answer may have come since the address was found.
        mailbox.tellNews()
        if mustStart { Task.detached { await self.watch() } }
    }

    func leave(_ mailbox: Mailbox) { state.withLock { $0.connections.leave(mailbox) } }

    func objection(to address: RedisAddress) -> String? {
        state.withLock { $0.poll.objection(to: address, now: .now) }
    }

    private func watch() async {
        while state.withLock({ $0.connections.goesOn() }) {
            askAll()
            try? await Task.sleep(for: Self.interval)
        }
    }

    private func askAll() {
        let asked = state.withLock { state in
            state.poll.ask().map { index -> (Int, RedisNode) in
                let address = state.poll.sentinels[index].address
                let node = state.nodes[index] ?? RedisNode(settings.at(address), connections: 1)
                state.nodes[index] = node
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
            state.poll.heard(outcome, from: index, now: now)
            let told = state.connections.mailboxes { server in
                server.map { state.poll.objection(to: $0, now: now) != nil } ?? true
            }
            return (told, state.poll.deafness(isUsed: state.connections.isAnyConnected, now: now))
        }
        for mailbox in told { mailbox.tellNews() }
        if change == true, case .failure(let error) = outcome {
            logger.warning(
                "no sentinel answers: a failover would not be noticed, connections stay",
                metadata: ["error": "\(error)"])
        } else if change == false {
            logger.notice("the sentinels answer again")
        }
    }

    /// One failure for all sentinels. TLS failures carry a remedy, so they go first.
    private func failure(of sentinels: [SentinelPoll.Sentinel]) -> LinkFailure {
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
