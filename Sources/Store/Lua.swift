import Redis

/// The scripts of `Lua/`, embedded at build time.
enum Lua {
    static let all: [RedisScript] = []
}
