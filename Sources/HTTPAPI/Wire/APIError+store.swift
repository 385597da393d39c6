import Redis
import Store

extension APIError {
    /// A failure of the store as the caller sees it. In most cases the caller can try again.
    init(_ error: StoreError) {
        switch error {
        case .redis(let error): self.init(error)
        case .unreplicated(let replicas, let wanted):
            let doubt = "only \(replicas) of \(wanted) replicas confirmed it in time. A push may still go out."
            let remedy = "Repeating the call is safe, for a publish with the same Idempotency-Key."
            self.init(503, "Redis has it, but \(doubt) \(remedy)", retryAfter: 2)
            cause = "\(replicas) of \(wanted) replicas confirmed"
        case .tooManyTags(let channel, let limit):
            let remedy = "remove some of them first. It was not changed."
            self.init(400, "The channel \(channel) would have more than \(limit) tags: \(remedy)", code: 40001)
        case .quotaReached(let quota, let limit):
            let words = quota == .startTokens ? "start tokens" : quota.rawValue
            let full = "The app has about \(limit) \(words), as many as \(quota.setting) allows this caller"
            let remedy = "Those that are there can be changed. Try again later, or raise the setting."
            self.init(429, "\(full): nothing was added. \(remedy)", retryAfter: 60)
            cause = "\(quota.setting) reached"
        case .otherFormat(let found, let known):
            self.init(503, "Another version has changed what is stored: nothing was changed.", retryAfter: 30)
            cause = "Redis holds format \(found), and this version knows \(known)"
        case .overtaken: self = Self.unavailable("Others change these registrations at the same time", retryAfter: 2)
        case .corrupt(let what): self = .internalError("corrupt \(what)")
        }
    }

    private init(_ error: RedisError) {
        switch error {
        case .unreachable, .insecure: self = Self.unavailable("Redis is not reachable", retryAfter: 2)
        case .lost: self = Self.unavailable("The connection to Redis broke", retryAfter: 2)
        case .closed: self = Self.unavailable("The gateway is shutting down", retryAfter: 1)
        case .server(let code, _): self = Self.refused(code: code)
        case .unexpectedReply, .unroutable: self = .internalError("")
        }
        cause = "redis: \(error)"
    }

    private static func refused(code: String) -> APIError {
        switch code {
        case "LOADING": unavailable("Redis is loading its data", retryAfter: 5)
        // A script that was refused may have done a part.
        case "OOM": unavailable("Redis is full", "this was not done, or only in part. Try again.", retryAfter: 30)
        case "NOPERM":
            unavailable(
                "The gateway's user of Redis lacks a right", "this was not done, or only in part.", retryAfter: 30)
        case "UNSUPPORTED":
            unavailable("Redis lacks a command that is needed", "this was not done, or only in part.", retryAfter: 30)
        case "NOADDRESS":
            unavailable("A node of the Redis cluster has no usable address", "nothing was changed.", retryAfter: 30)
        case "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "MOVED", "ASK", "UNBLOCKED", "FAILOVER",
            "NOMASTER":
            unavailable("Redis is changing its roles", retryAfter: 2)
        case "BUSY": unavailable("Redis is busy", retryAfter: 2)
        case "MISCONF": unavailable("Redis cannot write to its disk", "nothing was changed.", retryAfter: 30)
        case "NOREPLICAS": unavailable("Redis has too few replicas to be safe", "nothing was changed.", retryAfter: 10)
        case "NOAUTH", "WRONGPASS":
            unavailable("Redis does not accept the gateway's credentials", "nothing was changed.", retryAfter: 30)
        default: .internalError("")
        }
    }

    /// - Parameter unchanged: what the caller hears if no command of the call has changed anything
    private static func unavailable(
        _ why: String, _ unchanged: String = "nothing was changed. Try again.", retryAfter: Int
    ) -> APIError {
        APIError(503, "\(why): \(CallChanges.mayHaveBegun ? doubt : unchanged)", retryAfter: retryAfter)
    }

    /// Earlier commands of the call were executed, or the last one may have been.
    private static let doubt =
        "this was done, or a part of it, or nothing. Repeat it: a publish or a schedule with the same Idempotency-Key. "
        + "If it had none, look first whether it is there."
}
