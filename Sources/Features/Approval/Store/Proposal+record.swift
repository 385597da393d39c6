import LiveActivity
import Redis
import StoreGround
import StrictJSON

/// A proposal as a hash.
extension Proposal {
    /// The fields of one that waits.
    var fields: [RedisArgument] {
        [
            "state", .string(state.rawValue), "kind", .string(kind.rawValue), "ids",
            .bytes(pushIDs.flatMap(\.uuid.bytes)),
            "names", .bytes(JSON.array(names.map { .string($0.rawValue) }).bytes), "body", .bytes(body),
            "asker", .string(asker.identity), "by", .string(asker.publisher.stored), "asked", .int(askedAt),
            "lapses", .int(lapses), "request", .string(request),
        ]
    }

    /// The fields of the proposal's outcome.
    var outcome: [RedisArgument] {
        var fields: [RedisArgument] = []
        if let decision {
            fields += [
                "decider", .string(decision.by.identity), "decidedBy", .string(decision.by.publisher.stored),
                "decided", .int(decision.at),
            ]
            if let after = decision.after { fields += ["after", .string("\(after)")] }
        }
        if let reason { fields += ["reason", .string(reason)] }
        if let endedAt { fields += ["ended", .int(endedAt)] }
        return fields
    }

    init(id: PushID, _ fields: StoredHash) throws(StoreError) {
        func person(_ identity: String, _ publisher: String) -> Person? {
            guard let identity = fields.text(identity),
                let publisher = fields.text(publisher).flatMap({ Publisher(stored: $0) })
            else { return nil }
            return Person(identity: identity, publisher: publisher)
        }
        guard let state = fields.text("state").flatMap(State.init), let kind = fields.text("kind").flatMap(Kind.init),
            let ids = fields.bytes("ids"), let names = fields.bytes("names").flatMap({ Self.names($0) }),
            let body = fields.bytes("body"), let asker = person("asker", "by"), let asked = fields.number("asked"),
            let lapses = fields.number("lapses"), let request = fields.text("request")
        else { throw .corrupt("proposal") }
        self.init(
            id: id, kind: kind,
            pushIDs: Array(ids).parts(of: 16).compactMap { UUIDBytes(bytes: Array($0)).map(PushID.init) }, names: names,
            body: Array(body), asker: asker, askedAt: Int64(asked), lapses: Int64(lapses), request: request)
        self.state = state
        if let by = person("decider", "decidedBy"), let at = fields.number("decided") {
            decision = Decision(by: by, at: Int64(at), after: fields.text("after").flatMap { AfterPush($0) })
        }
        reason = fields.text("reason")
        endedAt = fields.number("ended").map(Int64.init)
    }

    /// Nil if they are not names.
    static func names(_ bytes: ArraySlice<UInt8>) -> [ActivityName]? {
        guard let texts = try? JSONDocument(Array(bytes)).root.array().map({ try $0.string() }) else { return nil }
        let names = texts.compactMap { try? ActivityName($0) }
        return names.isEmpty || names.count < texts.count ? nil : names
    }
}
