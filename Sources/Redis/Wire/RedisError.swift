/// The reason why a command has no usable reply. It never holds arguments, because these may be tokens or secrets.
public enum RedisError: Error, Sendable, Hashable, CustomStringConvertible {
    /// No connection could be made, or the server refused it. Nothing was executed.
    case unreachable(String)
    /// No TLS connection could be made: correct the certificates, the files or the URL's scheme. Nothing was executed.
    case insecure(String, remedy: String)
    /// The connection broke or timed out after the command was written. The command may have been executed.
    case lost(String)
    /// Redis sent an error reply. `code` is its first word (`LOADING`, `OOM`, `WRONGTYPE`, `READONLY`, …).
    case server(code: String, message: String)
    /// The reply has another type, size or form than the command promises.
    case unexpectedReply(String)
    /// The command was not sent, because its keys belong to no node of the cluster, or to several.
    case unroutable(String)
    case closed

    /// Whether the same command may succeed later without a change of the command or the configuration.
    /// `.insecure` may, because certificates are renewed while processes run. After `.lost` the command may have been
    /// executed, so repeat it only if doing it twice is harmless.
    public var isRetriable: Bool {
        switch self {
        case .unreachable, .insecure, .lost: true
        case .server(let code, _): Self.passingCodes.contains(code)
        case .unexpectedReply, .unroutable, .closed: false
        }
    }

    /// The sentinels answer, and the primary that they name cannot be used now. Nothing was executed.
    public static func noPrimary(_ why: String) -> RedisError { .server(code: "FAILOVER", message: why) }
    /// Most sentinels know no primary of this name. Nothing was executed.
    static func unknownPrimary(_ why: String) -> RedisError { .server(code: "NOMASTER", message: why) }

    /// Codes of temporary states of the server: it starts, fails over, or lacks memory or replicas.
    private static let passingCodes: Set<String> = [
        "LOADING", "BUSY", "MASTERDOWN", "READONLY", "OOM", "NOREPLICAS", "TRYAGAIN", "CLUSTERDOWN", "MISCONF",
        "FAILOVER", "NOMASTER",
    ]

    /// Advice for an operator, if there is any.
    public var remedy: String? {
        switch self {
        case .unreachable: "check redis.url, and that redis-server runs and accepts connections from here"
        case .insecure(_, let remedy): remedy
        case .server(let code, _): Self.remedies[code]
        case .lost: "if it happens again, look at Redis's log and at what is between it and this machine"
        case .unexpectedReply: "check that redis.url leads to Redis or Valkey, and to no other server"
        case .unroutable, .closed: nil
        }
    }

    private static let remedies: [String: String] = [
        "LOADING": "Redis is reading its data from disk and will answer when it is done; wait",
        "OOM": "Redis has reached maxmemory and refuses writes: raise maxmemory or free memory (policy noeviction)",
        "READONLY": "this is a replica: point redis.url at the primary, or at its sentinels, or promote it",
        "MASTERDOWN": "this replica has lost its primary: point redis.url at the primary",
        "NOAUTH": "Redis wants a password: redis://user:password@host, or redis://:password@host without a user",
        "WRONGPASS": "user or password in redis.url is wrong, or the user is switched off (ACL LIST)",
        "NOPERM": "the password is right, but the user in redis.url lacks a right (ACL GETUSER, ACL LOG)",
        "WRONGTYPE": "a key holds another type: is this Redis database shared with another program?",
        "MISCONF": "Redis cannot save to disk and refuses writes: look at its log and its disk",
        "NOREPLICAS": "Redis has fewer replicas than min-replicas-to-write: bring them back",
        "CLUSTERDOWN": "a part of the Redis cluster is away: redis-cli --cluster check, and look at that node's log",
        "TRYAGAIN": "a slot of the Redis cluster is being moved; wait",
        "UNSUPPORTED": "Lamplighter needs Redis 6.2 or later, or Valkey, with scripts, streams and transactions",
        "NOADDRESS": "let each node announce an address that this machine reaches: cluster-announce-ip, or "
            + "cluster-announce-hostname with cluster-preferred-endpoint-type hostname",
        "NOCLUSTER": "use redis:// for a single server",
        "MOVED": "this is a node of a Redis Cluster, which needs redis+cluster://",
        "NOPROTO": "this server does not speak RESP2",
        "FAILOVER": "wait, or look why the sentinels promote no replica: SENTINEL CKQUORUM",
        "NOMASTER": "write the name of their 'sentinel monitor' into redis.url: redis+sentinel://host:port,…/NAME/0",
    ]

    public var description: String {
        let text =
            switch self {
            case .unreachable(let why): "Redis is not reachable: \(why)"
            case .insecure(let why, _): "no secure connection to Redis: \(why)"
            case .lost(let why): "the connection to Redis was lost, the command may have been executed: \(why)"
            case .server("FAILOVER", let why): "Redis has no primary now: \(why)"
            case .server("NOMASTER", let why): "the sentinels of Redis know no such primary: \(why)"
            case .server(_, let message): "Redis answered: \(message)"
            case .unexpectedReply(let what): "Redis answered in an unexpected form: \(what)"
            case .unroutable(let why): "no node of the Redis cluster can be asked this: \(why)"
            case .closed: "the Redis client is closed"
            }
        return remedy.map { "\(text) (\($0))" } ?? text
    }

    /// Makes an error from the text of an error reply. Arguments that Redis quotes are cut off, and so is long text.
    public init(reply message: String) {
        var text = message[...]
        for quotation in [", with args beginning with", "Wrong number of args"] {
            if let start = text.firstRange(of: quotation)?.lowerBound { text = text[..<start] }
        }
        let word = text.prefix { $0 != " " }
        let isCode = !word.isEmpty && word.utf8.allSatisfy { (0x41...0x5A).contains($0) || $0 == UInt8(ascii: "_") }
        let code = isCode ? String(word) : "ERR"
        self = .server(code: code == "ERR" ? Self.refusal(text) ?? code : code, message: String(text.prefix(400)))
    }

    /// Whether Redis does not let this user do it, or this server cannot do it at all. A retry does not help.
    public var isRefusal: Bool {
        if case .server(let code, _) = self { ["NOPERM", "UNSUPPORTED"].contains(code) } else { false }
    }

    /// The code for a refusal without a code of its own. Inside a script, and at services that only resemble Redis, it
    /// begins with ERR as any other error does.
    private static func refusal(_ text: Substring) -> String? {
        let text = text.lowercased()
        return refusals.first { text.contains($0.words) }?.code
    }

    /// Parts of such texts, in lower case. Each is of a server that exists.
    private static let refusals: [(words: String, code: String)] = [
        // Redis 6 and 7.0 inside a script, Redis 7.2 and Valkey.
        ("can't run this command", "NOPERM"), ("the user executing the script can't", "NOPERM"),
        ("acl failure in script", "NOPERM"), ("has no permissions to", "NOPERM"),
        ("no permissions to access", "NOPERM"),
        ("unknown command", "UNSUPPORTED"), ("unknown redis command", "UNSUPPORTED"),
        ("unknown subcommand", "UNSUPPORTED"), ("not allowed from script", "UNSUPPORTED"),
        // Dragonfly, and services that share one Redis among customers.
        ("undeclared key", "UNSUPPORTED"), ("is not available", "UNSUPPORTED"), ("not supported", "UNSUPPORTED"),
        ("not support ", "UNSUPPORTED"), ("command is disabled", "UNSUPPORTED"),
    ]
}
