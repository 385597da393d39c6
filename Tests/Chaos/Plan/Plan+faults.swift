extension Plan {
    /// The milliseconds of silence after which a worker's tasks go to other workers. The run sets
    /// `worker.claim_after` to this.
    static let claimAfter = 3_000
    static let requestTimeout = 4_000
    /// The milliseconds of silence after which the other nodes of a cluster give a node up.
    static let nodeTimeout = 1_000
    /// The milliseconds of silence after which sentinels replace a primary.
    static let downAfter = 3_000

    /// The milliseconds after which a stopped process makes workers lose their claimed work.
    ///
    /// A cluster is away for longer than its node. The other nodes accept a node that they gave up only two timeouts
    /// later, and then wait for one more timeout before they serve.
    static func patience(with role: Role) -> Int {
        if case .node = role { nodeTimeout } else { claimAfter }
    }

    static func disturbances(
        _ milliseconds: Int, _ seed: UInt64, _ redis: RedisServers.Kind
    ) -> [Planned<Disturbance>] {
        var random = SeededRandom(seed, "disturbances")
        // Use a generator of its own, so that a run with one Redis is the same as before clusters existed.
        var nodes = SeededRandom(seed, "nodes")
        var planned: [Planned<Disturbance>] = []
        // Produce one fault at a time for each process.
        var busy: [Role: Int] = [:]
        var at = 2_000
        while at < milliseconds - 1_000 {
            let next = Planned(at: at, seed: random.next(), what: disturbance(&random, redis, &nodes))
            if let (role, length) = next.what.occupies {
                if busy[role, default: 0] <= at {
                    busy[role] = at + length
                    planned.append(next)
                }
            } else {
                planned.append(next)
            }
            at += random.number(800...4_500)
        }
        return planned
    }

    private static func disturbance(
        _ random: inout SeededRandom, _ redis: RedisServers.Kind, _ nodes: inout SeededRandom
    ) -> Disturbance {
        let servers = redis.dataRoles
        let server = servers[nodes.number(0...servers.count - 1)]
        // Several servers fail more often than one.
        let more = redis.isCluster ? 2.0 : 1.0
        let worker = Role.worker(random.number(1...workers))
        let gateway = Role.gateway(random.number(1...gateways))
        // A short stop, or one that is long enough for others to take over the tasks.
        let brief = random.number(100...1_500)
        let long = random.number(claimAfter + 500...claimAfter * 3)
        return random.pick([
            (4, .kill(worker, down: random.number(50...2_000))),
            (2, .stop(worker, for: brief)),
            (3, .stop(worker, for: long)),
            (2, .terminate(worker)),
            (2, .kill(gateway, down: random.number(50...1_000))),
            (1, .stop(gateway, for: random.number(300...5_000))),
            (1, .terminate(gateway)),
            (1.5 * more, .kill(server, down: random.number(50...1_500))),
            (1 * more, .stop(server, for: random.number(200...claimAfter + 1_500))),
            (1, .stop(.simulator, for: random.number(300...requestTimeout + 1_500))),
            (0.5, .redis("SCRIPT FLUSH")),
            (1, .redis("CLIENT KILL TYPE normal")),
        ])
    }

    static func apnsFaults(_ milliseconds: Int, _ seed: UInt64) -> [Planned<APNsFault>] {
        // The name of the generator is older than that of the type. It stays, so that seeds keep their plans.
        var random = SeededRandom(seed, "weather")
        var planned: [Planned<APNsFault>] = []
        var at = random.number(500...3_000)
        while at < milliseconds - 1_000 {
            let length = min(random.number(800...5_000), milliseconds - at)
            planned.append(Planned(at: at, seed: random.next(), what: apnsFault(length, &random)))
            at += length + random.number(200...3_000)
        }
        return planned
    }

    private static func apnsFault(_ length: Int, _ random: inout SeededRandom) -> APNsFault {
        let share = "0.\(random.number(1...4))"
        let count = random.number(20...400)
        let reset = random.pick([
            (1, "internal_error"), (1, "refused_stream"), (1, "cancel"), (1, "enhance_your_calm"),
        ])
        let delivers = random.chance(0.5)
        func when(_ title: String, _ faults: String, doubts: Bool = false) -> APNsFault {
            APNsFault(title: title, faults: faults, doubts: doubts, milliseconds: length)
        }
        let settings = #""settings":[{"after_requests":5,"streams":1},{"after_requests":\#(count),"streams":200}]"#
        let refusals: [(weight: Double, value: APNsFault)] = [
            (2, when("TooManyRequests", #""rejections":{"TooManyRequests":\#(share)}"#)),
            (
                1,
                when("TooManyRequests, Retry-After 1", #""rejections":{"TooManyRequests":\#(share)},"retry_after_s":1"#)
            ),
            (2, when("ServiceUnavailable", #""rejections":{"ServiceUnavailable":\#(share)}"#)),
            (1, when("all ServiceUnavailable, Retry-After 2", #""reject_all":"ServiceUnavailable","retry_after_s":2"#)),
            (1, when("InternalServerError", #""rejections":{"InternalServerError":\#(share)}"#)),
            (1, when("Shutdown", #""rejections":{"Shutdown":0.02}"#)),
            (1, when("ExpiredProviderToken", #""expire_next":\#(count % 5 + 1)"#)),
            (2, when("410s of long ago", "", doubts: true)),
        ]
        let silences: [(weight: Double, value: APNsFault)] = [
            (
                2,
                when("resets, \(reset)", #""reset_share":0.05,"reset_code":"\#(reset)","reset_delivers":\#(delivers)"#)
            ),
            (1, when("silence now and then", #""stall_share":0.01,"stall_delivers":\#(delivers)"#)),
            (1, when("silence after \(count)", #""stall_after":\#(count)"#)),
            (1, when("freeze after \(count)", #""freeze_after":\#(count)"#)),
            (2, when("slow", #""latency_ms":\#(count),"latency_jitter_ms":\#(count)"#)),
        ]
        let connections: [(weight: Double, value: APNsFault)] = [
            (2, when("GOAWAY after \(count)", #""goaway_after":\#(count)"#)),
            (2, when("abrupt GOAWAY after \(count)", #""goaway_after":\#(count),"goaway_mode":"abrupt""#)),
            (1, when("closed after \(count)", #""close_after":\#(count)"#)),
            (1, when("connections refused", #""refuse_connections":true,"close_after":\#(count)"#)),
            (
                1,
                when(
                    "new connections get no word",
                    #""silence":"\#(delivers ? "before_tls" : "before_http2")","close_after":\#(count)"#)
            ),
            (1, when("every second connection slow", #""slow_every":2,"slow_latency_ms":\#(count * 5)"#)),
            (1, when("stream limits", settings)),
            (1, when("one stream after a rejection", #""settings_drop_on_rejection":true"#)),
        ]
        return random.pick(refusals + silences + connections)
    }
}

extension Disturbance {
    /// The process, and the milliseconds until it runs again.
    var occupies: (Role, Int)? {
        switch self {
        case .kill(let role, let down): (role, down + 2_000)
        case .stop(let role, let length): (role, length + 500)
        case .terminate(let role), .upgrade(let role, _): (role, 8_000)
        case .redis, .clock, .failover: nil
        }
    }
}
