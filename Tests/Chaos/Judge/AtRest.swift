import Foundation
import TestSupport

/// Checks Redis when everything is over: streams and timers are empty, no work waits, and every key
/// without a TTL is on a list.
struct AtRest: Sendable {
    let redis: RedisServers
    let found: Findings

    /// Kinds of keys without a TTL: data from devices and operators, and data that all workers share.
    private static let permanent: Set<String> = [
        "meta", "schemas", "names", "ln", "fo", "fg", "nu", "pause", "in", "out", "wh", "c", "t", "u", "{q}", "d", "xn",
        "alarm", "bc", "bcn", "bcf", "bct", "bcl",
    ]
    /// Kinds of keys that exist only while pushes do: unswept pushes, their tasks, waiting channels,
    /// a catch-up, removals, broadcasts.
    private static let passing: Set<String> = ["q", "w", "h", "r", "k", "o", "bt"]
    /// The reconciler drops a name some 40 s after its last commit.
    private static let forgetting: Int64 = 90_000

    /// For each key: its kind, its TTL (-1 means none), and the entries of a stream or timer. For `open` the time
    /// of the oldest entry.
    private static let script = """
        local cursor, lines = '0', {}
        local before = redis.call('TIME')[1] * 1000 - 2000
        repeat
            local page = redis.call('SCAN', cursor, 'COUNT', 1000)
            cursor = page[1]
            for _, key in ipairs(page[2]) do
                local kind = redis.call('TYPE', key).ok
                local size = 0
                if string.find(key, '{q%d*}') then
                    if kind == 'stream' then size = redis.call('XLEN', key) end
                    if kind == 'zset' then size = redis.call('ZCARD', key) end
                    -- A wake-up that is not due yet may be for channels that wait no longer. A broadcast channel is
                    -- deleted an hour after its name's end.
                    if string.find(key, ':due$') or string.find(key, ':bc$') then size = redis.call('ZCOUNT', key, '-inf', before) end
                    if string.find(key, ':{q%d*}:.*:open$') then
                        size = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2] or 0
                    end
                end
                lines[#lines + 1] = redis.call('PTTL', key) .. ' ' .. size .. ' ' .. key
            end
        until cursor == '0'
        return lines
        """

    func judge(within limit: Duration) async throws {
        let end = ContinuousClock.now + limit
        while true {
            let wrong = try await look()
            if wrong.isEmpty { return }
            if ContinuousClock.now > end {
                for text in wrong { found.note(.atRest, text) }
                return
            }
            try await Task.sleep(for: .milliseconds(500))
        }
    }

    private func look() async throws -> [String] {
        var wrong: [String] = []
        for role in redis.dataRoles {
            guard let socket = redis.socket(role) else { continue }
            let answer = try await ChildProcess.run(["redis-cli", "-s", socket, "--raw", "EVAL", Self.script, "0"])
            guard answer.code == 0 else { throw ChaosFailure("\(role) does not say its keys: \(answer.out)") }
            wrong += answer.out.split(separator: "\n").compactMap { Self.wrong($0) }
        }
        return wrong
    }

    private static func wrong(_ line: Substring) -> String? {
        let parts = line.split(separator: " ", maxSplits: 2)
        guard parts.count == 3, let life = Int64(parts[0]), let size = Int64(parts[1].prefix { $0 != "." }) else {
            return line.isEmpty ? nil : "unreadable: \(line)"
        }
        let key = parts[2]
        // Keys have the form `ll:KIND:…`. Read only the beginning, because names hold any byte.
        let kind = key.utf8.dropFirst(3).prefix { $0 != UInt8(ascii: ":") }
        // A cluster's partitions are {q} and {q1} to {q7}.
        let word = kind.starts(with: "{q".utf8) ? "{q}" : String(Substring(kind))
        if passing.contains(word) { return "\(key) is there" }
        if life == -1, !permanent.contains(word) { return "\(key) has no TTL" }
        guard word == "{q}", size > 0 else { return nil }
        if key.hasSuffix(":open") {
            return Clock.epoch - size > forgetting ? "\(key) has an entry of \(Clock.epoch - size) ms ago" : nil
        }
        return "\(key) has \(size) entries"
    }
}
