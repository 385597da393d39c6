internal import LiveActivity
internal import StrictJSON

extension Exchange {
    /// An object for people and programs, as `GET /api/push/{id}/trace` shows it.
    /// - Parameter attempt: counts from 1; nil: the push is not one of Redis's
    public func json(attempt: Int? = nil) -> [UInt8] {
        var body = JSON.fields([
            "attempt": attempt.map(JSON.integer), "origin": .string(origin), "path": .string(path),
            "sent_at": .string(TimeText.text(sentAt)), "ended_at": .string(TimeText.text(endedAt)),
            "headers": Self.json(fields), "payload": .raw(payload),
        ])
        switch outcome {
        case .answered(let status, let reason, let fields):
            body.append("status", .integer(status))
            if !reason.isEmpty { body.append("reason", .string(reason)) }
            if let apnsID { body.append("apns_id", .string(apnsID)) }
            body.append("answer_headers", Self.json(fields))
        case .unanswered(let word): body.append("no_answer", .string(word))
        }
        return body.bytes
    }

    /// A repeated field keeps its first value, because the keys of an object are different.
    private static func json(_ fields: [Field]) -> JSON {
        var members: [JSON.Member] = []
        for field in fields where !members.contains(where: { $0.key == field.name }) {
            members.append(JSON.Member(field.name, .string(field.value)))
        }
        return .object(members)
    }
}
