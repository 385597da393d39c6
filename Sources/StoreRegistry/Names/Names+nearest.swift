public import LiveActivity
import Redis
public import StoreGround

/// For the hint that a publisher gets about a name that no channel follows.
extension Names {
    /// Names that are read from the index on each side of a name.
    private static let mostNeighbours = 100
    /// Spellings of a name in one request.
    private static let mostSpellings = 1_000

    /// The names that no channel seems to follow. One round trip, without names that were followed in the last minute.
    public func unfollowed(_ app: AppKey, _ names: [ActivityName]) async throws(StoreError) -> [ActivityName] {
        let now = tokens.clock()
        let asked = names.filter { !memory.isFollowed(RegistryMemory.Key(app: app, tokens: .activity($0)), now: now) }
        guard !asked.isEmpty else { return [] }
        let replies = try await redis.replies(
            asked.map { name in
                let tag = keys.tag(app, name)
                return RedisCommand(
                    Lua.registryFollowed,
                    keys: [
                        "b": keys.root(tag), "a": keys.startedChannels(tag), "bc": keys.broadcast(tag),
                        "n": keys.name(tag), "q": keys.unswept(tag),
                    ], ["ps": .string(keys.pushPrefix(tag))])
            })
        var unfollowed: [ActivityName] = []
        for (name, reply) in zip(asked, replies) {
            if try reply.isOne() {
                memory.followed(RegistryMemory.Key(app: app, tokens: .activity(name)), at: now)
            } else {
                unfollowed.append(name)
            }
        }
        return unfollowed
    }

    /// Names that the publisher may have meant: neighbours in the index, names that differ by one edit, and the
    /// beginning of a neighbour with the digits of `name`. A few hundred at most, in two round trips.
    public func candidates(_ app: AppKey, near name: ActivityName) async throws(StoreError) -> [ActivityName] {
        let index = keys.names(app)
        let bound = RedisArgument.bytes(Array("(".utf8) + Array(name.rawValue.utf8))
        let replies = try await redis.replies([
            RedisCommand("ZREVRANGEBYLEX", index, bound, "-", "LIMIT", "0", .int(Self.mostNeighbours)),
            RedisCommand("ZRANGEBYLEX", index, bound, "+", "LIMIT", "0", .int(Self.mostNeighbours)),
        ])
        let found = try replies.map { (reply) throws(StoreError) in try reply.byteStrings() }.joined()
        let neighbours = found.map { String(decoding: $0, as: UTF8.self) }
        let spellings = Array(Spellings.near(name.rawValue, besides: neighbours).prefix(Self.mostSpellings))
        let scores = try await redis.run("ZMSCORE", index, spellings.map { .string($0) }).array()
        let listed = zip(spellings, scores).filter { !$0.1.isNil }.map(\.0)
        var seen: Set<ExactText> = [ExactText(name.rawValue)]
        return (listed + neighbours).filter { seen.insert(ExactText($0)).inserted }.compactMap { try? ActivityName($0) }
    }
}

/// Ways in which the publisher may have meant to write a name.
enum Spellings {
    private static let alphabet = Array("abcdefghijklmnopqrstuvwxyz0123456789-_.:/".utf8)
    /// Letters are replaced and added only in names up to this length, but removed and swapped in all names.
    private static let longestToReplace = 11

    /// The name in lower case or with one edit, and its digits behind the beginnings of other names: `ordr-1234` beside
    /// `order-9999` gives `order-1234`. Each spelling once, the likeliest first.
    static func near(_ name: String, besides names: [String]) -> [String] {
        let bytes = Array(name.utf8)
        var found: [[UInt8]] = [Array(name.lowercased().utf8)]
        let tail = bytes[(bytes.firstIndex(where: isDigit) ?? bytes.endIndex)...]
        for other in names {
            let stem = Array(other.utf8.prefix { !isDigit($0) })
            if !tail.isEmpty, stem.count + tail.count <= ActivityName.maximumBytes { found.append(stem + tail) }
        }
        func add(_ edit: (inout [UInt8]) -> Void) {
            var edited = bytes
            edit(&edited)
            found.append(edited)
        }
        for index in bytes.indices {
            add { _ = $0.remove(at: index) }
            if index > 0 { add { $0.swapAt(index - 1, index) } }
        }
        for letter in bytes.count <= longestToReplace ? alphabet : [] {
            for index in bytes.indices { add { $0[index] = letter } }
            for index in 0...bytes.count { add { $0.insert(letter, at: index) } }
        }
        var seen: Set<[UInt8]> = [bytes, []]
        return found.filter { seen.insert($0).inserted }.compactMap { String(validating: $0, as: UTF8.self) }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}
