public import LiveActivity
import Redis

extension WorkQueue {
    /// The workers that share this queue: name, milliseconds since they last asked for work, unacknowledged entries.
    package func workers(_ apps: [AppKey]) async throws(StoreError) -> [(name: String, idle: Int, pending: Int)] {
        var found: [String: (idle: Int, pending: Int)] = [:]
        for stream in streams(apps) {
            for consumer in try await consumers(stream) {
                let known = found[consumer.name] ?? (idle: .max, pending: 0)
                found[consumer.name] = (min(known.idle, consumer.idle), known.pending + consumer.pending)
            }
        }
        return found.map { (name: $0.key, idle: $0.value.idle, pending: $0.value.pending) }.sorted { $0.name < $1.name }
    }

    /// Removes killed workers whose entries were claimed. Live ones ask every few seconds, so `silence` must be longer.
    public func forgetDeadWorkers(_ apps: [AppKey], silence: Duration) async throws(StoreError) {
        for stream in streams(apps) {
            for consumer in try await consumers(stream)
            where consumer.pending == 0 && consumer.idle > silence.milliseconds {
                try await remove(consumer.name, from: stream)
            }
        }
    }

    /// - Returns: an empty list if the stream or its group does not exist yet.
    private func consumers(
        _ stream: RedisKey
    ) async throws(StoreError) -> [(name: String, idle: Int, pending: Int)] {
        let reply = try await redis.reply(RedisCommand("XINFO", ["CONSUMERS", .key(stream), .string(Self.group)]))
        if reply.error != nil { return [] }
        return try reply.array().map { consumer throws(StoreError) in
            let fields = try Self.fields(of: consumer)
            guard let name = try fields["name"]?.string(), let idle = try fields["idle"]?.integer(),
                let pending = try fields["pending"]?.integer()
            else { throw .unexpectedReply("XINFO CONSUMERS without name, idle or pending") }
            return (name: name, idle: idle, pending: pending)
        }
    }

    /// The fields of a part of an answer to `XINFO`.
    package static func fields(of part: Reply) throws(StoreError) -> [String: Reply] {
        var fields: [String: Reply] = [:]
        for (field, value) in try part.pairs() { fields[try field.string()] = value }
        return fields
    }
}
