import Redis
import Store

extension APIError {
    /// A failure of the store as the caller sees it. In most cases the caller can try again.
    init(_ error: StoreError) {
        switch error {
        case .redis(let error): self.init(error)
        case .unreplicated(let replicas, let wanted):
            let doubt = "only \(replicas) of \(wanted) replicas confirmed it in time. It may still go out."
            let remedy = "Repeating it with the same Idempotency-Key is safe."
            self.init(503, "Redis has the push, but \(doubt) \(remedy)", retryAfter: 2)
            cause = "\(replicas) of \(wanted) replicas confirmed"
        case .tooManyTags(let channel, let limit):
            let remedy = "remove some of them first. It was not changed."
            self.init(400, "The channel \(channel) would have more than \(limit) tags: \(remedy)", code: 40001)
        case .quotaReached(let quota, let limit):
            let words = quota == .startTokens ? "start tokens" : quota.rawValue
            let full = "The app has about \(limit) \(words), as many as \(quota.setting) allows"
            let remedy = "Those that are there can be changed. Try again later, or raise the setting."
            self.init(429, "\(full): nothing was added. \(remedy)", retryAfter: 60)
            cause = "\(quota.setting) reached"
        case .newerFormat(let found, let known):
            self.init(503, "A newer version has changed what is stored: nothing was changed.", retryAfter: 30)
            cause = "Redis holds format \(found), and this version knows \(known)"
        case .corrupt(let what): self = .internalError("corrupt \(what)")
        }
    }

    private init(_ error: RedisError) {
        switch error {
        case .unreachable, .insecure:
            self.init(503, "Redis is not reachable: nothing was changed. Try again.", retryAfter: 2)
        case .lost:
            let doubt = "The connection to Redis broke: the change may or may not have been made."
            self.init(503, "\(doubt) Repeating is safe (a publish: with an Idempotency-Key).", retryAfter: 2)
        case .closed: self.init(503, "The gateway is shutting down. Try again.", retryAfter: 1)
        case .server(let code, _): self = Self.refused(code: code)
        case .unexpectedReply, .unroutable: self = .internalError("")
        }
        cause = "redis: \(error)"
    }

    private static func refused(code: String) -> APIError {
        switch code {
        case "LOADING": APIError(503, "Redis is loading its data: nothing was changed. Try again.", retryAfter: 5)
        case "OOM": APIError(503, "Redis is full: this was not done, or only in part. Try again.", retryAfter: 30)
        case "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "MOVED", "ASK", "UNBLOCKED":
            APIError(503, "Redis is changing its roles: nothing was changed. Try again.", retryAfter: 2)
        case "BUSY": APIError(503, "Redis is busy: nothing was changed. Try again.", retryAfter: 2)
        case "MISCONF": APIError(503, "Redis cannot write to its disk: nothing was changed.", retryAfter: 30)
        case "NOREPLICAS": APIError(503, "Redis has too few replicas to be safe: nothing was changed.", retryAfter: 10)
        case "NOPERM":
            APIError(503, "The gateway's user of Redis lacks a right: this was not done.", retryAfter: 30)
        case "NOAUTH", "WRONGPASS":
            APIError(503, "Redis does not accept the gateway's credentials: nothing was changed.", retryAfter: 30)
        default: .internalError("")
        }
    }
}
