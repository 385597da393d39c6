import Logging
import Redis
import Settings
import Store

/// The connection that every process opens at start, and what Redis reports about itself.
struct RedisInspection {
    /// The longest wait at start for a Redis that does not answer. There is no limit while Redis loads its data, or
    /// while a process that needs a primary finds the replica of another site (docs/second-site.md), or sentinels that
    /// have no primary now.
    static let patience: Duration = .seconds(5)

    /// - Parameters:
    ///   - needsPrimary: whether a single server that is a replica is refused, also for reads
    ///   - sharesTurns: for a process with many small calls at once
    static func client(
        _ settings: Settings, needsPrimary: Bool = false, sharesTurns: Bool = false, logger: Logger
    ) -> RedisClient {
        var options = RedisOptions()
        options.needsPrimary = needsPrimary
        options.sharesTurns = sharesTurns
        options.tls = settings.redisTLS
        return RedisClient(
            url: settings.redisURL, connections: settings.redisConnections, scripts: Store.scripts, options: options,
            logger: logger)
    }

    /// The store of a command, once Redis answers.
    static func store(_ settings: Settings, logger: Logger) async throws -> Store {
        let store = Store(settings, redis: client(settings, logger: logger))
        try await Self.await(store.redis, settings, logger: logger)
        return store
    }

    /// Returns when Redis answers. Throws after `patience`, with a remedy.
    /// - Parameter waits: called while a failover or the promotion of this site is awaited, for as long as it likes;
    ///   nil: a person at a terminal is told at once
    static func await(
        _ redis: RedisClient, _ settings: Settings, waits: (@Sendable () -> Void)? = nil, logger: Logger
    ) async throws {
        try settings.checkRedisFiles()
        let clock = ContinuousClock()
        let deadline = clock.now + patience
        var attempt = 0
        while true {
            do {
                try await redis.send(Store.ping)
                return
            } catch {
                attempt += 1
                let code = if case .server(let code, _) = error { code } else { "" }
                let isFailover = code == "FAILOVER"
                let isWaiting = code == "LOADING" || code == "READONLY" || waits != nil && isFailover
                if isWaiting, code != "LOADING" { waits?() }
                let failure = CommandFailure(error)
                guard isWaiting || failure.status == .unreachable && clock.now < deadline else {
                    let remedy = "\(SettingKey[\.redisURL].environmentName) or --redis-url names another"
                    // A server that takes TLS alone closes a connection without it, and says nothing.
                    let tls =
                        failure.status == .unreachable && !isFailover && "\(settings.redisURL)".hasPrefix("redis")
                            && !"\(settings.redisURL)".hasPrefix("rediss")
                        ? "\nif the server takes TLS alone, the URL begins with rediss" : ""
                    let text = "\(failure.message)\nredis.url is \(settings.redisURL); \(remedy)\(tls)"
                    throw CommandFailure(failure.status, text)
                }
                if attempt == 1 || attempt % 10 == 0 { logger.warning("waiting for Redis: \(failure.message)") }
                try await Task.sleep(for: .milliseconds(min(1_000, 100 * attempt)))
            }
        }
    }

    /// Findings for each server that takes writes: a single server, or the primaries of a cluster.
    static func findings(_ redis: RedisClient, _ settings: Settings) async throws(RedisError) -> [RedisFindings] {
        let questions = RedisFindings.watched.map { RedisCommand("CONFIG", ["GET", .string($0)]) }
        return try await redis.onEachPrimary([RedisCommand("INFO")] + questions).map {
            (node, replies) throws(RedisError) in
            if let error = replies[0].error { throw error }
            var configuration: [String: String] = [:]
            // Managed services rename or forbid CONFIG. After an error reply the configuration is unknown.
            for reply in replies.dropFirst() where reply.error == nil {
                guard let pair = try? reply.array(), pair.count == 2 else { continue }
                if let key = try? pair[0].string(), let value = try? pair[1].string() { configuration[key] = value }
            }
            return RedisFindings(
                info: try replies[0].infoFields(), configuration: configuration, node: node,
                usesSentinels: settings.redisURL.usesSentinels)
        }
    }

    /// Whether a failover may lose accepted work. Nil without sentinels or a cluster: only these fail over themselves.
    static func failover(_ settings: Settings) -> Finding? {
        guard settings.redisURL.usesSentinels || settings.redisURL.usesCluster else { return nil }
        if settings.waitReplicas > 0 {
            return .good("Redis failover", "a publish is accepted when \(settings.waitReplicas) replicas have it")
        }
        let remedy = "redis.wait_replicas: 1, with two replicas, so that one may be away"
        return .warning("Redis failover", "a failover may lose what was accepted in the moment before it", remedy)
    }

    /// Asks the replicas for their priority, which their primary does not know. A replica that is not reached from here
    /// says nothing.
    static func secondSite(_ findings: [RedisFindings], _ settings: Settings, logger: Logger) async -> [Finding] {
        guard settings.waitReplicas > 0 else { return [] }
        var options = RedisOptions()
        (options.connectTimeout, options.commandTimeout, options.tls) = (.seconds(1), .seconds(1), settings.redisTLS)
        var found: [Finding] = []
        for server in findings {
            var priorities: [Int] = []
            for (host, port) in server.replicaAddresses {
                let url = settings.redisURL.server(host: host, port: port)
                let client = RedisClient(url: url, connections: 1, options: options, logger: logger)
                let fields = try? await client.send(RedisCommand("INFO", ["replication"])).infoFields()
                await client.close()
                if let priority = fields?["slave_priority"].flatMap(Int.init) { priorities.append(priority) }
            }
            let finding = server.secondSite(settings.waitReplicas, priorities: priorities)
            if let finding, !found.contains(finding) { found.append(finding) }
        }
        return found
    }

    /// Whether the server can tell what its replicas have. Some hosted services refuse WAIT.
    static func waiting(_ redis: RedisClient, _ settings: Settings) async throws(RedisError) -> Finding? {
        guard settings.waitReplicas > 0 else { return nil }
        for (node, replies) in try await redis.onEachPrimary([RedisCommand("WAIT", ["0", "1"])]) {
            guard let error = replies[0].error else { continue }
            let text = "\(node.map { "\($0): " } ?? "")WAIT is refused (\(error)), so every publish gets a 503"
            return .bad("Redis WAIT", text, "set redis.wait_replicas to 0, or use another service", .configuration)
        }
        return nil
    }

    /// Judges the server at the start of a process. Ends the process if Redis refuses what it needs, and logs a warning
    /// for every way in which the server may lose accepted work.
    /// - Parameter publishes: whether the process accepts publishes, and so asks replicas with WAIT.
    /// - Throws: a failure that names each command and its right.
    static func judge(
        _ store: Store, _ settings: Settings, publishes: Bool, logger: Logger
    ) async throws(CommandFailure) {
        let redis = store.redis
        let findings = (try? await findings(redis, settings)) ?? []
        let waiting = try? await waiting(redis, settings)
        let refusals = await rights(store, settings)
        let fatal =
            findings.merged { [$0.version] } + (publishes ? [waiting].compactMap(\.self) : []) + refusals
        let wrong = fatal.filter { $0.mark == .bad }
        guard wrong.isEmpty else {
            let lines = wrong.map(\.line).joined(separator: "\n")
            throw CommandFailure(.configuration, "\(lines)\nredis.url is \(settings.redisURL)")
        }
        let warnings = (publishes ? [] : [waiting].compactMap(\.self)) + refusals.filter { $0.mark == .warning }
        for finding in findings.merged(\.losses) + warnings { logger.warning("\(finding.line)") }
    }

    /// One finding for each command that Redis refuses the user of `redis.url`, or cannot do. If there is none, one
    /// finding that all is well.
    static func rights(_ store: Store, _ settings: Settings) async -> [Finding] {
        let refusals = await store.refusals()
        if refusals.isEmpty { return [.good("Redis rights", "each command that is needed is allowed")] }
        let user = settings.redisURL.userName
        return refusals.map { refusal in
            let remedy =
                switch refusal.error {
                case .server("NOPERM", _):
                    "ACL SETUSER \(user) \(refusal.right), or all rights of docs/reference.md (A user of Redis)"
                default: refusal.error.remedy ?? "use Redis 6.2 or later, or Valkey; docs/reference.md lists servers"
                }
            if refusal.isNeeded { return .bad("Redis rights", refusal.description, remedy, .configuration) }
            return .warning("Redis rights", refusal.description, remedy)
        }
    }
}

extension Finding {
    /// For a log, or for an error of several lines.
    var line: String { "\(subject): \(text)\(remedy.map { "; \($0)" } ?? "")" }
}
