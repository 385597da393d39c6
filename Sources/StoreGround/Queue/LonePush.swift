package import LiveActivity
package import Redis

/// A name's only unswept push, which is kept in the name's own hash until it is settled or something unusual happens to
/// it. `shared-lone.lua` has the format.
package struct LonePush {
    /// Read them before the queue `q`: a push that is unpacked between the two reads moves from here to there.
    package static let fields: [RedisArgument] = ["lone", "sent"]

    package let id: PushID
    /// As a push's own hash has them.
    package let fields: StoredHash
    /// Whether a worker has begun it.
    package let isSent: Bool
    package var priority: PushPriority { fields.number("prio").flatMap(PushPriority.init(rawValue:)) ?? .high }

    /// Reads the answer to HMGET of `fields`. Nil: the name has no lone push, or one that cannot be read.
    package init?(_ reply: Reply) throws(StoreError) {
        guard let lone = try reply[0].optionalBytes() else { return nil }
        self.init(lone, isSent: !reply[1].isNil)
    }

    package init?(_ lone: ArraySlice<UInt8>, isSent: Bool) {
        let lines = lone.split(separator: UInt8(ascii: "\n"), maxSplits: 2, omittingEmptySubsequences: false)
        guard lines.count == 3, let head = String(validating: lines[0], as: UTF8.self) else { return nil }
        let words = head.split(separator: " ")
        guard words.count == Self.words.count + 1, let id = PushID(String(words[0])) else { return nil }
        var fields = [
            "event": Array("update".utf8), "aud": Array("*".utf8), "payload": Array(lines[2]),
            "state": Array((isSent ? "sending" : "queued").utf8),
        ]
        for (field, word) in zip(Self.words, words.dropFirst()) where word != "-" { fields[field] = Array(word.utf8) }
        if !lines[1].isEmpty { fields["by"] = Array(lines[1]) }
        (self.id, self.fields, self.isSent) = (id, StoredHash(fields), isSent)
    }

    /// The words behind the id, as fields of a push's hash. `life` is none of them.
    private static let words = [
        "seq", "ts", "prio", "until", "created", "life", "sup", "expiry", "soft", "prev", "tell", "tp",
    ]
}

extension Keyspace {
    package func lonePush(_ tag: String) -> RedisCommand { RedisCommand("HMGET", name(tag), LonePush.fields) }
}

extension RedisClient {
    /// The fields of pushes, in their order. Empty for one whose record is gone, or was never written.
    package func pushFields(
        _ keys: Keyspace, _ pushes: [(tag: String, id: PushID)]
    ) async throws(StoreError) -> [StoredHash] {
        var found = try await ownFields(keys, pushes)
        let missing = found.indices.filter { found[$0].isEmpty }
        if missing.isEmpty { return found }
        let names = try await run(missing.map { keys.lonePush(pushes[$0].tag) })
        var gone: [Int] = []
        for (index, reply) in zip(missing, names) {
            if let lone = try LonePush(reply), lone.id == pushes[index].id {
                found[index] = lone.fields
            } else {
                gone.append(index)
            }
        }
        // One that was lone at the first look, and not at the second, has its own hash by now.
        for (index, fields) in zip(gone, try await ownFields(keys, gone.map { pushes[$0] })) { found[index] = fields }
        return found
    }

    private func ownFields(
        _ keys: Keyspace, _ pushes: [(tag: String, id: PushID)]
    ) async throws(StoreError) -> [StoredHash] {
        if pushes.isEmpty { return [] }
        let replies = try await run(pushes.map { RedisCommand("HGETALL", keys.push($0.tag, $0.id)) })
        return try replies.map { reply throws(StoreError) in try StoredHash(reply) }
    }
}
