import Redis

extension RedisClient {
    /// Reads a hash in parts of about `count` entries and gives each part to `body`. Entries that `read` cannot read
    /// are removed, because no version of Lamplighter wrote them.
    func eachPart<Entry>(
        ofHash key: RedisArgument, count: Int, read: (ArraySlice<UInt8>, ArraySlice<UInt8>) -> Entry?,
        _ body: ([Entry]) async throws(StoreError) -> Void
    ) async throws(StoreError) {
        var cursor = "0"
        repeat {
            let reply = try await run([RedisCommand("HSCAN", [key, .string(cursor), "COUNT", .int(count)])])[0]
            var entries: [Entry] = []
            var unreadable: [RedisArgument] = []
            try redisErrors { () throws(RedisError) in
                cursor = try reply[0].string()
                let items = try reply[1].array()
                for index in stride(from: 0, to: items.count - 1, by: 2) {
                    let field = try items[index].bytes()
                    if let entry = read(field, try items[index + 1].bytes()) {
                        entries.append(entry)
                    } else {
                        unreadable.append(.bytes(Array(field)))
                    }
                }
            }
            if !unreadable.isEmpty { _ = try await run([RedisCommand("HDEL", [key] + unreadable)]) }
            if !entries.isEmpty { try await body(entries) }
        } while cursor != "0"
    }
}
