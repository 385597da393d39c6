package import LiveActivity
package import Redis

/// Reads pushes in whichever form they are. A lone push becomes a kept record or gets its own hash, a kept one may get
/// its own hash, and none goes back. Reads in this order miss none that moves meanwhile.
extension RedisClient {
    /// The fields of pushes, in their order. Empty for one whose record is gone, or was never written.
    /// - Parameter only: fields that are read of a push's own hash. Nil: all
    package func pushFields(
        _ keys: Keyspace, _ pushes: [(tag: String, id: PushID)], only: [String]? = nil
    ) async throws(StoreError) -> [StoredHash] {
        var found = try await finalFields(keys, pushes, only)
        let missing = found.indices.filter { found[$0].isEmpty }
        if missing.isEmpty { return found }
        let names = try await run(missing.map { keys.lonePush(pushes[$0].tag) })
        var gone: [Int] = []
        for (index, reply) in zip(missing, names) {
            if var lone = try LonePush(reply), lone.id == pushes[index].id {
                if let entry = lone.entry { lone.isSent = try await isRead(entry) }
                found[index] = lone.fields
            } else {
                gone.append(index)
            }
        }
        // One that was lone at the first look, and not at the second, is elsewhere by now.
        let moved = try await finalFields(keys, gone.map { pushes[$0] }, only)
        for (index, fields) in zip(gone, moved) { found[index] = fields }
        return found
    }

    /// Whether a worker has read an entry, and has not acknowledged it.
    private func isRead(_ entry: (stream: RedisKey, id: String)) async throws(StoreError) -> Bool {
        let id = RedisArgument.string(entry.id)
        let look = RedisCommand("XPENDING", entry.stream, .string(WorkQueue.group), id, id, "1")
        // Without the group no worker has read anything.
        return try await replies([look])[0].count > 0
    }

    /// The fields of pushes that are kept, or that have hashes of their own.
    private func finalFields(
        _ keys: Keyspace, _ pushes: [(tag: String, id: PushID)], _ only: [String]?
    ) async throws(StoreError) -> [StoredHash] {
        if pushes.isEmpty { return [] }
        let replies = try await run(
            pushes.flatMap { tag, id in
                let own = keys.push(tag, id)
                return [
                    RedisCommand("HGET", keys.keptPushes(tag, id), .bytes(id.uuid.bytes)),
                    only.map { RedisCommand("HMGET", own, $0.map { .string($0) }) } ?? RedisCommand("HGETALL", own),
                ]
            })
        return try pushes.enumerated().map { index, push throws(StoreError) in
            let (kept, own) = (replies[2 * index], replies[2 * index + 1])
            let fields = if let only { try StoredHash(only, own) } else { try StoredHash(own) }
            guard fields.isEmpty, let kept = try kept.optionalBytes() else { return fields }
            return KeptPush(push.id, kept)?.fields ?? fields
        }
    }
}
