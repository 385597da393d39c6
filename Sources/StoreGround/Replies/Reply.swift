package import LiveActivity
package import Redis

/// A reply of Redis whose accessors throw the store's errors.
package struct Reply: Sendable {
    package let reply: RedisReply

    package init(_ reply: RedisReply) { self.reply = reply }
    package var isNil: Bool { reply.isNil }
    package var error: RedisError? { reply.error }
    /// How many elements an array has. 0 for anything else.
    package var count: Int { reply.count }
    package func part(_ range: Range<Int>) -> Reply { Reply(reply.part(range)) }
    package subscript(index: Int) -> Reply { Reply(reply[index]) }

    package func integer() throws(StoreError) -> Int {
        let number = try translatingErrors { () throws(RedisError) in try reply.integer() }
        guard StoredNumber.range.contains(number) else { throw .unexpectedReply("a number of more than 53 bits") }
        return number
    }
    /// Reads a time, epoch ms.
    package func time() throws(StoreError) -> Int64 { Int64(try integer()) }
    package func bytes() throws(StoreError) -> ArraySlice<UInt8> {
        try translatingErrors { () throws(RedisError) in try reply.bytes() }
    }
    package func string() throws(StoreError) -> String {
        try translatingErrors { () throws(RedisError) in try reply.string() }
    }
    package func array() throws(StoreError) -> [Reply] {
        try translatingErrors { () throws(RedisError) in try reply.array() }.map { Reply($0) }
    }
    package func forEachPair(_ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Void) throws(StoreError) {
        try translatingErrors { () throws(RedisError) in try reply.forEachPair(body) }
    }
    package func forEachInteger(_ body: (_ index: Int, _ number: Int) -> Void) throws(StoreError) {
        try translatingErrors { () throws(RedisError) in try reply.forEachInteger(body) }
    }

    /// The answer of a script that says yes or no.
    package func isOne() throws(StoreError) -> Bool { try integer() == 1 }
    package func optionalString() throws(StoreError) -> String? { isNil ? nil : try string() }
    package func optionalBytes() throws(StoreError) -> ArraySlice<UInt8>? { isNil ? nil : try bytes() }
    package func strings() throws(StoreError) -> [String] {
        try array().map { item throws(StoreError) in try item.string() }
    }
    package func byteStrings() throws(StoreError) -> [[UInt8]] {
        try array().map { item throws(StoreError) in Array(try item.bytes()) }
    }

    /// The elements of an array in twos: fields and values, or members and scores.
    package func pairs() throws(StoreError) -> [(Reply, Reply)] {
        let items = try array()
        return stride(from: 0, to: items.count - 1, by: 2).map { (items[$0], items[$0 + 1]) }
    }

    /// Reads a number that is stored as text. Nil if there is none, or none of ours.
    package func optionalNumber() throws(StoreError) -> Int? { try optionalString().flatMap { StoredNumber.read($0) } }

    /// Reads a score as epoch ms, '' as nil. A score that is no time becomes a time that never comes.
    package func optionalTime() throws(StoreError) -> Int64? {
        Double(try string()).map { time in
            guard let whole = Int(exactly: time.rounded()), whole <= StoredNumber.range.upperBound else { return .max }
            return Int64(max(whole, StoredNumber.range.lowerBound))
        }
    }

    /// Reads the answer to TIME, epoch ms.
    package func redisTime() throws(StoreError) -> Int64 {
        let (seconds, micros) = try values(.integer("seconds"), .integer("microseconds"))
        return Int64(seconds) * 1_000 + Int64(micros) / 1_000
    }

    package func hash() throws(StoreError) -> StoredHash { try StoredHash(self) }

    /// Reads a push id. Nil: there is none, or the text is none.
    package func push() throws(StoreError) -> PushID? { try optionalString().flatMap { PushID($0) } }

    /// Reads an entry of a stream. Its fields are nil if it was deleted while it was pending (Redis 6.2).
    package func entry() throws(StoreError) -> (id: String, fields: Reply) {
        try values(.string("id"), .any("fields"))
    }

    /// Reads the answer to `ZRANGE … 0 0 WITHSCORES`: the time of the first member. Nil: the set is empty.
    package func firstTime() throws(StoreError) -> Int64? { try array().dropFirst().first?.optionalTime() }

    /// Reads an array of names. Items that are no names come back separately.
    package func names() throws(StoreError) -> (names: [ActivityName], unreadable: [RedisArgument]) {
        var (names, unreadable): ([ActivityName], [RedisArgument]) = ([], [])
        for item in try array() {
            let name = (try? item.string()).flatMap { try? ActivityName($0) }
            if let name { names.append(name) } else { unreadable.append(.bytes(Array(try item.bytes()))) }
        }
        return (names, unreadable)
    }
}
