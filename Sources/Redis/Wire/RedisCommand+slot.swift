/// Finds the slot of a command in its encoded bytes. Only a cluster needs this, so a single server costs nothing more.
extension RedisCommand {
    /// The positions of a command's keys among its arguments.
    private enum Keys {
        case first, second, all
        /// After their number, which is the second argument.
        case counted
        /// The first half of the arguments after the word STREAMS.
        case streams
    }

    /// Every command that a cluster may get by its keys. Others are refused, because their keys would be a guess.
    private static let keys: [String: Keys] = {
        let first = """
            APPEND DUMP EXPIRE EXPIREAT EXPIRETIME GET GETDEL GETSET HDEL HEXISTS HGET HGETALL HINCRBY HKEYS HLEN HMGET
            HMSET HRANDFIELD HSCAN HSET HSETNX HVALS INCR INCRBY LLEN LPUSH LRANGE LREM PERSIST PEXPIRE PEXPIREAT
            PEXPIRETIME PFADD PTTL RESTORE RPUSH SADD SCARD SET SETNX SISMEMBER SMEMBERS SMISMEMBER SRANDMEMBER SREM
            SSCAN STRLEN TTL TYPE XACK XADD XAUTOCLAIM XCLAIM XDEL XLEN XPENDING XRANGE XREVRANGE XTRIM ZADD ZCARD
            ZCOUNT ZMSCORE ZPOPMIN ZRANDMEMBER ZRANGE ZRANGEBYLEX ZRANGEBYSCORE ZRANK ZREM ZREMRANGEBYLEX
            ZREMRANGEBYSCORE ZREVRANGE ZREVRANGEBYLEX ZREVRANK ZSCAN ZSCORE
            """
        let groups: [(String, Keys)] = [
            (first, .first), ("MEMORY OBJECT XGROUP XINFO", .second), ("DEL EXISTS MGET PFCOUNT TOUCH UNLINK", .all),
            ("EVAL EVALSHA EVALSHA_RO EVAL_RO", .counted), ("XREAD XREADGROUP", .streams),
        ]
        var keys: [String: Keys] = [:]
        for (words, place) in groups {
            for word in words.split(whereSeparator: \.isWhitespace) { keys[String(word)] = place }
        }
        return keys
    }()

    /// In capitals.
    public var name: String {
        encoded.withUnsafeBytes { bytes in
            var arguments = EncodedArguments(bytes)
            return arguments.next().map { String(decoding: $0, as: UTF8.self).uppercased() } ?? ""
        }
    }

    /// - Throws: `unroutable` for keys of two slots, and for a command with neither keys nor `near`.
    func slot() throws(RedisError) -> HashSlot {
        if let near { return near }
        let result: Result<HashSlot, RedisError> = encoded.withUnsafeBytes { bytes in
            do throws(RedisError) { return .success(try Self.slot(bytes)) } catch { return .failure(error) }
        }
        return try result.get()
    }

    private static func slot(_ bytes: UnsafeRawBufferPointer) throws(RedisError) -> HashSlot {
        var arguments = EncodedArguments(bytes)
        let name = arguments.next().map { String(decoding: $0, as: UTF8.self).uppercased() } ?? ""
        guard let keys = keys[name] else {
            throw .unroutable("\(name) names no key by which a node of the cluster could be chosen")
        }
        var found = SlotOfKeys(command: name)
        switch keys {
        case .first: try found.add(arguments.next())
        case .second:
            _ = arguments.next()
            try found.add(arguments.next())
        case .all: while let key = arguments.next() { try found.add(key) }
        case .counted:
            _ = arguments.next()
            let count = arguments.next().flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 0
            for _ in 0..<count { try found.add(arguments.next()) }
        case .streams:
            // Skip GROUP and the names of group and consumer, because one of them could be the word STREAMS.
            if name == "XREADGROUP" { for _ in 0..<3 { _ = arguments.next() } }
            while let word = arguments.next(), !word.elementsEqual("STREAMS".utf8) {}
            for _ in 0..<arguments.left / 2 { try found.add(arguments.next()) }
        }
        guard let slot = found.slot else { throw .unroutable("\(name) was given no key") }
        return slot
    }
}

extension [RedisCommand] {
    /// The slot that all commands share. Nil if there is no command.
    func commonSlot() throws(RedisError) -> HashSlot? {
        var common: HashSlot?
        for (index, command) in enumerated() {
            let slot = try command.slot()
            guard common == nil || common == slot else {
                throw .unroutable("a transaction has keys of two slots, its commands 1 and \(index + 1)")
            }
            common = slot
        }
        return common
    }
}

/// Collects the one slot of a command's keys. Keys with the same hash tag are hashed only once.
private struct SlotOfKeys {
    let command: String
    var slot: HashSlot?
    var first: UnsafeRawBufferPointer?

    mutating func add(_ key: UnsafeRawBufferPointer?) throws(RedisError) {
        guard let key else { throw .unroutable("\(command) has fewer keys than it says") }
        guard let first, let slot else {
            first = key
            self.slot = HashSlot(key: key)
            return
        }
        let (tag, known) = (HashSlot.tag(of: key), HashSlot.tag(of: first))
        if tag.elementsEqual(known) || HashSlot(key: key) == slot { return }
        func shown(_ key: UnsafeRawBufferPointer) -> String { String(decoding: key.prefix(80), as: UTF8.self) }
        throw .unroutable("\(command) has keys of two slots, \(shown(first)) and \(shown(key))")
    }
}

/// Reads the arguments of a command such as `*2\r\n$3\r\nGET\r\n$1\r\na\r\n`. It trusts them: this module wrote them.
private struct EncodedArguments {
    private let bytes: UnsafeRawBufferPointer
    private var position = 0
    /// Arguments that were not returned yet.
    private(set) var left = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        left = number()
    }

    mutating func next() -> UnsafeRawBufferPointer? {
        guard left > 0 else { return nil }
        left -= 1
        let length = number()
        defer { position += length + 2 }
        return UnsafeRawBufferPointer(rebasing: bytes[position..<position + length])
    }

    /// Reads one letter, a number and the end of the line.
    private mutating func number() -> Int {
        var value = 0
        position += 1
        while bytes[position] != UInt8(ascii: "\r") {
            value = value * 10 + Int(bytes[position] - UInt8(ascii: "0"))
            position += 1
        }
        position += 2
        return value
    }
}
