import LiveActivity
import Redis
public import StrictJSON

/// The answer of a process that was asked to read its configuration again.
public struct ReloadAnswer: Sendable, Hashable {
    /// `gateway` or `worker`.
    public var process: String
    /// Settings that it uses from now on. They are named without their values.
    public var applied: [String] = []
    /// Settings that have changed, and that it uses only after a restart.
    public var needsRestart: [String] = []
    /// The reason why the configuration could not be read, so nothing has changed.
    public var error: String?

    public init(process: String, applied: [String] = [], needsRestart: [String] = [], error: String? = nil) {
        (self.process, self.applied, self.needsRestart, self.error) = (process, applied, needsRestart, error)
    }

    public var json: JSON {
        .fields([
            "process": .string(process), "applied": .array(applied.map(JSON.string)),
            "needs_restart": .array(needsRestart.map(JSON.string)), "error": error.map(JSON.string),
        ])
    }

    init?(_ text: String) {
        guard let object = try? JSONDocument(Array(text.utf8)).root.object(),
            let process = try? object.required("process").string(),
            let applied = try? object.required("applied").array().map({ try $0.string() }),
            let needsRestart = try? object.required("needs_restart").array().map({ try $0.string() })
        else { return nil }
        self.init(
            process: process, applied: applied, needsRestart: needsRestart, error: try? object["error"]?.string())
    }
}

/// Asks all processes of a deployment to read their configuration again. Each process looks for a request every few
/// seconds, and notes that it lives (ADR 28). If a process dies between a request and its answer, the caller learns
/// that no answer came. A process that starts later has read its configuration anyway.
public struct ReloadRequests: Sendable {
    public struct Process: Sendable, Hashable {
        public var name: String
        /// `gateway` or `worker`.
        public var kind: String
    }

    /// How often a process notes that it lives, and looks for a request.
    public static let interval: Duration = .seconds(3)
    /// A process that has not noted it for this long is gone.
    public static let patience: Duration = .seconds(10)
    /// How long a request and its answers are kept, in seconds.
    private static let life = 600
    /// The field of a request's answers that names the next request. No process has an empty name.
    private static let successor = ""
    /// Milliseconds after which a process that never said goodbye is forgotten.
    private static let memory: Int64 = 86_400_000

    let redis: RedisClient
    let keys: Keyspace
    /// Epoch milliseconds.
    let clock: @Sendable () -> Int64

    /// Notes that a process lives, and asks for the newest request.
    /// - Parameter renews: whether the life of all notes begins anew. Now and then is enough.
    /// - Returns: nil if there was none in the last ten minutes.
    public func look(_ name: String, _ kind: String, renews: Bool) async throws(StoreError) -> String? {
        let note = RedisCommand("HSET", keys.processes, .string(name), .string("\(kind) \(clock())"))
        let renewal = RedisCommand("PEXPIRE", keys.processes, .int(Self.memory))
        let replies = try await redis.run(
            [note] + (renews ? [renewal] : []) + [RedisCommand("GET", keys.reload)])
        return try replies[replies.count - 1].optionalString()
    }

    /// Forgets a process that ends.
    public func leave(_ name: String) async { _ = try? await redis.run("HDEL", keys.processes, .string(name)) }

    /// Makes a request. A process answers only the newest one, so an older request that is open names this one as its
    /// successor: what a process reads for the newer request is an answer to both.
    /// - Returns: its id, and the processes that live
    public func ask() async throws(StoreError) -> (id: String, processes: [Process]) {
        let processes = try await processes()
        let id = PushID.random().description
        let older = try await redis.run("SET", keys.reload, .string(id), "EX", .int(Int64(Self.life)), "GET")
        if !older.isNil {
            let key = keys.reloadAnswers(try older.string())
            _ = try await redis.run([
                RedisCommand("HSET", key, .string(Self.successor), .string(id)),
                RedisCommand("EXPIRE", key, .int(Int64(Self.life))),
            ])
        }
        return (id, processes)
    }

    /// The gateways and workers that live, by kind and name.
    public func processes() async throws(StoreError) -> [Process] {
        let now = clock()
        var processes: [Process] = []
        var gone: [String] = []
        for (field, value) in try await redis.run("HGETALL", keys.processes).pairs() {
            let (name, parts) = (try field.string(), try value.string().split(separator: " ").map(String.init))
            let seen = parts.count == 2 ? Int64(StoredNumber.read(parts[1]) ?? 0) : 0
            // A time ahead is from before Redis's clock was set back. A living process has noted another one since.
            let age = abs(now - seen)
            if age <= Self.patience.milliseconds {
                processes.append(Process(name: name, kind: parts[0]))
            } else if age > Self.memory {
                gone.append(name)
            }
        }
        for name in gone { await leave(name) }
        return processes.sorted { ($0.kind, $0.name) < ($1.kind, $1.name) }
    }

    public func answer(_ id: String, _ name: String, _ answer: ReloadAnswer) async throws(StoreError) {
        let key = keys.reloadAnswers(id)
        _ = try await redis.run([
            RedisCommand("HSET", key, .string(name), .string(answer.json.text)),
            RedisCommand("EXPIRE", key, .int(Int64(Self.life))),
        ])
    }

    /// The answers so far to a request or to its successors, by process.
    public func answers(_ id: String) async throws(StoreError) -> [String: ReloadAnswer] {
        var found: [String: ReloadAnswer] = [:]
        var next: String? = id
        // A hundred commands at once are no use, and a wrong value must not make this endless.
        for _ in 0..<100 {
            guard let id = next else { break }
            next = nil
            for (field, value) in try await redis.run("HGETALL", keys.reloadAnswers(id)).pairs() {
                let (name, text) = (try field.string(), try value.string())
                if name == Self.successor { next = text } else { found[name] = found[name] ?? ReloadAnswer(text) }
            }
        }
        return found
    }
}
