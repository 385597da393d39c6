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
