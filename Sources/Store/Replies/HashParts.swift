import Redis

extension RedisClient {
    /// Reads a hash in parts of about `count` entries and gives each part to `body`. Entries that `read` cannot read
    /// are removed, because no version of Lamplighter wrote them.
    func eachPart<Entry>(
        ofHash key: RedisKey, count: Int, read: (ArraySlice<UInt8>, ArraySlice<UInt8>) -> Entry?,
        _ body: ([Entry]) async throws(StoreError) -> Void
    ) async throws(StoreError) {
        var cursor = "0"
        repeat {
            let reply = try await run("HSCAN", key, .string(cursor), "COUNT", .int(count))
            var entries: [Entry] = []
            var unreadable: [RedisArgument] = []
            cursor = try reply[0].string()
            for (field, value) in try reply[1].pairs() {
                let field = try field.bytes()
                if let entry = read(field, try value.bytes()) {
                    entries.append(entry)
                } else {
                    unreadable.append(.bytes(Array(field)))
                }
            }
            if !unreadable.isEmpty { try await run("HDEL", key, unreadable) }
            if !entries.isEmpty { try await body(entries) }
        } while cursor != "0"
    }
}
