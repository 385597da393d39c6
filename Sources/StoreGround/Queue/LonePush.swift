package import LiveActivity
package import Redis

/// A name's only unswept push, which is kept in the name's own hash until it is settled or something unusual happens to
/// it. `shared-lone-words.lua` has the format.
package struct LonePush {
    /// Read them before the queue `q`: a push that is unpacked between the two reads moves from here to there.
    package static let fields: [RedisArgument] = ["lone", "sent", "handed"]

    /// The words behind the id, in their order. `life` is no field of a push's hash.
    package enum Word: Int, CaseIterable {
        case seq, ts, prio, until, created, life, sup, expiry, soft, prev, tell, tp
    }

    package let id: PushID
    /// The id and the words behind it, as bytes: a text would be split by characters, which is slow.
    private let words: [ArraySlice<UInt8>]
    private let publisher: ArraySlice<UInt8>
    package let payload: ArraySlice<UInt8>
    /// Whether a worker has begun it.
    package var isSent: Bool
    /// Its acceptance began it, for the worker that reads this entry of this stream.
    package var entry: (stream: RedisKey, id: String)?
    package var priority: PushPriority { number(.prio).flatMap(PushPriority.init(rawValue:)) ?? .high }

    /// Reads the answer to HMGET of `fields`. Nil: the name has no lone push, or one that cannot be read.
    package init?(_ reply: Reply) throws(StoreError) {
        let (lone, sent, handed) = try reply.values(.optionalBytes("lone"), .any("sent"), .any("handed"))
        guard let lone else { return nil }
        self.init(lone, isSent: !sent.isNil)
        let words = try handed.optionalString()?.split(separator: " ", maxSplits: 4).map(String.init) ?? []
        if words.count == 5 { entry = (RedisKey(words[3]), words[2]) }
    }

    package init?(_ lone: ArraySlice<UInt8>, isSent: Bool) {
        let lines = lone.split(separator: UInt8(ascii: "\n"), maxSplits: 2, omittingEmptySubsequences: false)
        guard lines.count == 3 else { return nil }
        let words = lines[0].split(separator: UInt8(ascii: " "))
        guard words.count == Word.allCases.count + 1, let id = PushID(String(decoding: words[0], as: UTF8.self))
        else { return nil }
        (self.id, self.words, self.isSent) = (id, words, isSent)
        (publisher, payload) = (lines[1], lines[2])
    }

    /// A word of the push. Nil if the push has none.
    package func text(_ word: Word) -> String? {
        let text = String(decoding: words[word.rawValue + 1], as: UTF8.self)
        return text == "-" ? nil : text
    }
    package func number(_ word: Word) -> Int? { text(word).flatMap { StoredNumber.read($0) } }

    /// As a push's own hash has them.
    package var fields: StoredHash {
        var fields = [
            "event": Array("update".utf8), "aud": Array("*".utf8), "payload": Array(payload),
            "state": Array((isSent ? "sending" : "queued").utf8),
        ]
        for word in Word.allCases { fields["\(word)"] = text(word).map { Array($0.utf8) } }
        if !publisher.isEmpty { fields["by"] = Array(publisher) }
        return StoredHash(fields)
    }
}

extension Keyspace {
    package func lonePush(_ tag: String) -> RedisCommand { RedisCommand("HMGET", name(tag), LonePush.fields) }
}
