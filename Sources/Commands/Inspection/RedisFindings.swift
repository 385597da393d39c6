/// Judges what a Redis server reports about itself. It makes decisions only and does no I/O.
struct RedisFindings {
    /// Fields of the reply to INFO.
    var info: [String: String]
    /// Replies to CONFIG GET. Empty if a managed service forbids it.
    var configuration: [String: String]
    /// The server's name, if there are several servers.
    var node: String?
    /// Whether sentinels choose the primary.
    var usesSentinels = false

    static let watched = [
        "appendonly", "appendfsync", "maxmemory", "maxmemory-policy", "hash-max-listpack-value",
        "hash-max-listpack-entries", "hash-max-ziplist-value", "hash-max-ziplist-entries", "timeout",
        "min-replicas-to-write",
    ]

    var all: [Finding] {
        [version, durability] + [memory, encoding, cluster, replicas].compactMap { $0 } + limits + persistence
    }
    /// Findings about ways to lose accepted work. Every process warns about them at start.
    var losses: [Finding] {
        ([durability] + [memory, replicas].compactMap { $0 } + limits + persistence).filter { $0.mark != .good }
    }

    var version: Finding {
        guard let text = info["redis_version"], !text.isEmpty else {
            return .warning(
                "Redis version", "the service does not tell its version", "it must be like Redis 6.2 or later")
        }
        let product = info["server_name"] == "valkey" ? "Valkey \(info["valkey_version"] ?? text)" : "Redis \(text)"
        let numbers = text.split(separator: ".").map { Int($0) ?? 0 }
        if (numbers.first ?? 0, numbers.dropFirst().first ?? 0) >= (6, 2) { return .good("Redis version", product) }
        return .bad("Redis version", product, "install Redis 6.2 or later, or Valkey", .configuration)
    }

    var durability: Finding {
        func unsafe(_ text: String) -> Finding {
            let setting = configuration["appendonly"] == "yes" ? "appendfsync always" : "appendonly yes"
            return .warning("Redis durability", text, "redis-cli CONFIG SET \(setting), and use config/redis.conf")
        }
        if configuration.isEmpty {
            // A hosted service may forbid CONFIG. INFO still tells whether there is an append-only file.
            if info["aof_enabled"] == "0" {
                let text = "the server keeps no append-only file: a restart of Redis loses accepted pushes and tokens"
                let remedy =
                    "switch it on at the service, with a sync for each write, or keep replicas and redis.wait_replicas"
                return .warning("Redis durability", text, remedy)
            }
            let remedy = "make sure that its append-only file is on, with appendfsync always"
            return .warning("Redis durability", "the server does not show its configuration", remedy)
        }
        if configuration["appendonly"] != "yes" {
            return unsafe("appendonly is off: a restart of Redis loses accepted pushes and tokens")
        }
        return switch configuration["appendfsync"] {
        case "always": .good("Redis durability", "append-only file, written to disk before each answer")
        case "everysec": unsafe("appendfsync everysec: a power cut loses up to two seconds of accepted pushes")
        case let other: unsafe("appendfsync \(other ?? "?"): a power cut loses what the system had not written")
        }
    }

    var memory: Finding? {
        let policy = configuration["maxmemory-policy"] ?? info["maxmemory_policy"] ?? ""
        if policy.isEmpty {
            let remedy = "make sure that it is noeviction, or Redis may throw tokens and pushes away"
            return .warning("Redis memory", "the service does not tell its policy (maxmemory-policy)", remedy)
        }
        if policy == "noeviction" {
            let limit = (configuration["maxmemory"] ?? info["maxmemory"]).flatMap(Int.init) ?? 0
            let text = limit == 0 ? "no limit, nothing is evicted" : "limit \(limit >> 20) MB, nothing is evicted"
            return .good("Redis memory", text)
        }
        return .warning(
            "Redis memory", "maxmemory-policy \(policy): Redis may throw tokens and pushes away when memory is short",
            configuration.isEmpty
                ? "set the service's eviction policy to noeviction"
                : "redis-cli CONFIG SET maxmemory-policy noeviction, and use config/redis.conf")
    }

    /// Checks limits that hosted services set low: memory, connections, idle connections.
    var limits: [Finding] {
        func number(_ field: String) -> Int? { info[field].flatMap(Int.init) }
        var found: [Finding] = []
        if let limit = number("maxmemory"), limit > 0, let used = number("used_memory"), used >= limit / 10 * 9 {
            let remedy = "give Redis more memory, or let data expire sooner"
            let share = "\(used >> 20) of \(limit >> 20) MB are used (\(used * 100 / limit) %)"
            found.append(
                used < limit
                    ? .warning("Redis memory", "\(share): a full Redis accepts and sends nothing", remedy)
                    : .bad("Redis memory", "\(share): nothing is accepted or sent", remedy, .failed))
        }
        if let most = number("maxclients"), let open = number("connected_clients"), open >= most / 10 * 8 {
            let text = "\(open) of \(most) connections are open: further processes will be refused"
            found.append(.warning("Redis connections", text, "raise maxclients, or lower redis.connections"))
        }
        if let idle = configuration["timeout"].flatMap(Int.init), (1..<60).contains(idle) {
            let text = "the server closes connections that are idle for \(idle) s, so a call may have to connect first"
            found.append(.warning("Redis connections", text, "redis-cli CONFIG SET timeout 0"))
        }
        return found
    }

    /// Checks the limits of compact hashes. One entry needs room for a token of 80 bytes and its record, or for a
    /// push's payload.
    var encoding: Finding? {
        // Redis 6.2 has the second name only.
        let kind = configuration["hash-max-listpack-value"] == nil ? "ziplist" : "listpack"
        func limit(_ what: String) -> Int? { configuration["hash-max-\(kind)-\(what)"].flatMap(Int.init) }
        guard let value = limit("value"), let entries = limit("entries") else { return nil }
        let remedy =
            "redis-cli CONFIG SET hash-max-\(kind)-value 1024, the same with -entries 512, and use config/redis.conf"
        if value < 96 || entries < 128 {
            let text = "tokens take half as much again, and read slower, and pushes take twice as much"
            return .warning("Redis encoding", "hash-max-\(kind)-value \(value), -entries \(entries): \(text)", remedy)
        }
        if value < 512 {
            let text = "pushes with a payload over \(value) bytes take twice as much"
            return .warning("Redis encoding", "hash-max-\(kind)-value \(value): \(text)", remedy)
        }
        return .good("Redis encoding", "compact hashes: about 120 bytes a token")
    }

    /// Checks a cluster: it needs redis+cluster:// as its URL, and only a replica can replace a dead primary.
    var cluster: Finding? {
        guard info["cluster_enabled"] == "1" else { return nil }
        if node == nil {
            let text = "this server is a node of a cluster, and spoken to as if it were alone"
            return .warning("Redis cluster", text, "redis.url: redis+cluster:// instead of redis://")
        }
        guard info["connected_slaves"] == "0" else { return nil }
        let remedy = "add a replica to each primary (redis-cli --cluster add-node … --cluster-slave)"
        return .warning("Redis replicas", "a primary without a replica: its names get 503 while it is away", remedy)
    }

    /// Checks whether a primary stops taking writes when it has lost its replicas. A primary that is being replaced
    /// then refuses what would be lost. A cluster's primary stops by itself when it has lost the others.
    var replicas: Finding? {
        let hasReplicas = usesSentinels || (info["connected_slaves"].flatMap(Int.init) ?? 0) > 0
        guard hasReplicas, info["cluster_enabled"] != "1", let least = configuration["min-replicas-to-write"] else {
            return nil
        }
        if least != "0" { return .good("Redis replicas", "a primary with fewer than \(least) takes no writes") }
        return .warning(
            "Redis replicas",
            "min-replicas-to-write is 0: a primary that is cut off or replaced may answer publishes and registrations "
                + "that are lost",
            "redis-cli CONFIG SET min-replicas-to-write 1 on each server, with two replicas, so that one may be away")
    }

    /// Where this server sees its replicas.
    var replicaAddresses: [(host: String, port: Int)] {
        info.keys.filter { $0.wholeMatch(of: /slave[0-9]+/) != nil }.sorted().compactMap { key in
            guard let match = info[key]?.firstMatch(of: /ip=([^,]+),port=([0-9]+),/), let port = Int(match.2) else {
                return nil
            }
            return (String(match.1), port)
        }
    }

    /// Checks whether a publish that replicas confirmed is at a second site too. The replica there has the priority 0,
    /// so that it is not promoted by itself.
    /// - Parameter priorities: `replica-priority` of the replicas that told it
    func secondSite(_ waitReplicas: Int, priorities: [Int]) -> Finding? {
        guard waitReplicas > 0, priorities.contains(0) else { return nil }
        let count = max(priorities.count, info["connected_slaves"].flatMap(Int.init) ?? 0)
        if waitReplicas >= count {
            return .good("Redis second site", "a publish is accepted when all \(count) replicas have it")
        }
        return .warning(
            "Redis second site",
            "\(waitReplicas) of \(count) replicas confirm a publish, and one of priority 0 is not promoted by itself: the "
                + "replica that confirms may not be the one that takes over",
            "redis.wait_replicas: \(count), the number of all replicas (docs/second-site.md)")
    }

    var persistence: [Finding] {
        var found: [Finding] = []
        if info["aof_last_write_status"] == "err" {
            let remedy = "free disk space or replace the disk, then check Redis's log"
            found.append(.bad("Redis disk", "the last write of the append-only file failed", remedy, .failed))
        }
        if info["aof_last_bgrewrite_status"] == "err" {
            let text = "the last rewrite of the append-only file failed"
            found.append(.warning("Redis disk", text, "check Redis's log and disk space"))
        }
        if info["role"] == "slave" {
            let text = "this server is a replica and takes no writes"
            found.append(.bad("Redis role", text, "point redis.url at the primary", .configuration))
        }
        if info["loading"] == "1" {
            found.append(.warning("Redis", "the server still loads its data", "wait until it is done"))
        }
        return found
    }
}

extension [RedisFindings] {
    /// A finding that is the same on all servers appears once. Other findings carry the server's name.
    func merged(_ part: (RedisFindings) -> [Finding]) -> [Finding] {
        let said = map(part)
        var merged: [Finding] = []
        for (server, findings) in zip(self, said) {
            for var finding in findings {
                if !said.allSatisfy({ $0.contains(finding) }) {
                    finding.text = (server.node.map { "\($0): " } ?? "") + finding.text
                }
                if !merged.contains(finding) { merged.append(finding) }
            }
        }
        return merged
    }

    /// Bytes of all servers together. Nil if one server does not report them.
    var usedMemory: Int? {
        let sizes = compactMap { $0.info["used_memory"].flatMap(Int.init) }
        return sizes.count == count && count > 0 ? sizes.reduce(0, +) : nil
    }
}
