public import LiveActivity
package import Redis

extension WorkQueue {
    /// Entries of a timer that one script brings forward.
    private static let hastened = 500

    /// Brings forward the timers of apps after Redis's clock was set back by `step`. The worker that
    /// looks at work that is due too early then puts it off again.
    /// - Parameter now: epoch ms of the clock behind the step.
    public func hasten(_ apps: [AppKey], _ step: ServerTime.Step, now: Int64) async throws(StoreError) {
        for app in apps {
            let partitioned = keys.allPartitions.flatMap { [keys.due(app, $0), keys.open(app, $0)] }
            let others = [keys.broadcastTimers(app), keys.claimedEnds(app), keys.forgetSteps(app)]
            try await (partitioned + others).eachApart { (timer) async throws(StoreError) in
                try await Self.hasten(redis, timer, step, now: now)
            }
        }
    }

    package static func hasten(
        _ redis: RedisClient, _ timer: RedisKey, _ step: ServerTime.Step, now: Int64
    ) async throws(StoreError) {
        var from = ""
        repeat {
            from = try await redis.run(
                Lua.timerHasten, keys: ["timer": timer],
                ["now": .int(now), "by": .int(step.by), "from": .string(from), "most": .int(hastened)]
            ).string()
        } while !from.isEmpty
    }

    /// Restarts the idle times of all entries that workers have read, after Redis's clock was set back. Otherwise no
    /// worker claims the entries of a dead worker before the clock is where it was. Living workers renew their entries
    /// anyway.
    public func restartIdleTimes(_ apps: [AppKey]) async throws(StoreError) {
        for stream in streams(apps) {
            var position = "-"
            while true {
                let reply = try await redis.reply(
                    RedisCommand(
                        "XPENDING", [.key(stream), .string(Self.group), .string(position), "+", .int(Self.hastened)]))
                // No worker has made the group yet.
                guard reply.error == nil else { break }
                var owners: [String: [RedisArgument]] = [:]
                var last = ""
                let entries = try reply.array()
                for entry in entries {
                    var values = try ReplyValues(entry)
                    last = try values.next(.string("id"))
                    owners[try values.next(.string("owner")), default: []].append(.string(last))
                }
                let claims = owners.map { owner, ids in
                    RedisCommand("XCLAIM", stream, [.string(Self.group), .string(owner), "0"] + ids + ["JUSTID"])
                }
                if !claims.isEmpty { try await redis.run(claims) }
                guard entries.count == Self.hastened else { break }
                position = "(" + last
            }
        }
    }
}
