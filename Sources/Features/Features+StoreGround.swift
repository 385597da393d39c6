import Redis

extension Lua {
    static let ofFeatures: [[RedisScript]] = [
        appAttest,
        backup,
    ]
}
