import Store

extension GatewayMetricName {
    /// The meaning of the metric, as in docs/metrics.md.
    public var help: String {
        switch self {
        case .requests: "requests to the gateway"
        case .requestDuration: "from the head of a request to its answer"
        case .requestsInFlight: "authenticated requests in work"
        case .pushes: "publishes: accepted, conflict, queue_full, failed"
        case .schedules: "schedules: created, replaced, cancelled, full"
        case .receipts: "receipts: accepted, late, unknown"
        case .registrations: "registrations: stored, stale, removed, start_token, start_token_removed"
        case .queueDepth: "entries whose work is not done, also read ones; retries_due: all tasks of the timer"
        case .queueOldest: "age of the oldest entry that no worker has read; retries_due: how late the first is"
        case .schedulesWaiting: "schedules that wait for their time"
        case .schedulesBehind: "how late the first schedule is"
        case .alarms: "alarms, 1 while raised: " + Alarm.Kind.all.map(\.rawValue).joined(separator: ", ")
        case .workers: "workers: live; silent: no heartbeat for 8 s without an orderly end, or Redis refuses writes"
        case .paused: "pauses by an operator: of the app, and of its names"
        case .broadcasts: "settled broadcasts; retried counts further attempts"
        case .quarantinedNames: "names and attributes types with quarantined tokens"
        case .deadLetters: "pushes with dead letters"
        case .redisMemory: "memory of the fullest server of Redis: used, and its limit (0: none)"
        case .redisScripts: "scripts of a primary of Redis; server is its address in a cluster, else primary"
        case .redisScriptTime: "time of these scripts: at 1 a second, this server is full. Take the max"
        case .redisReplicas: "connected replicas of Redis"
        case .redisDiskFailing: "1: a server of Redis could not write its append-only file"
        case .scrapeFailures: "1: Redis did not answer this scrape; other fleet metrics are old"
        case .certificateExpires: "when the gateway's certificate expires, since 1970"
        case .residentMemory: "resident memory"
        case .cpuTime: "processor time, of all cores"
        case .startTime: "when the process started, since 1970"
        case .openFiles: "open files and sockets"
        case .maximumFiles: "limit of open files and sockets"
        }
    }
}
