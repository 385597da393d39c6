import LiveActivity
import Store
import StrictJSON

/// Calls about tokens that the prune guard put into quarantine.
extension Handlers {
    func listQuarantine(_ call: Call) async throws -> Answer {
        let limit = try call.limit()
        let names = try await store.quarantine.list(call.app.key, limit: limit)
        let total = try await store.quarantine.count(call.app.key)
        return Answer(
            200, ["ok": true, "total_names": .integer(total), "names": .array(names.map(\.json))])
    }

    /// Releases tokens. Body: `{"name"?}`, or `{"attributes_type"}` for start
    /// tokens. Without these, every name of the app.
    func releaseQuarantine(_ call: Call) async throws -> Answer {
        let result = try await store.quarantine.release(call.app.key, Self.quarantinedName(call))
        return Answer(
            200, ["ok": true, "names": .integer(result.names), "released": .integer(result.released)])
    }

    func discardQuarantine(_ call: Call) async throws -> Answer {
        let result = try await store.quarantine.discard(call.app.key, Self.quarantinedName(call))
        return Answer(
            200,
            [
                "ok": true, "names": .integer(result.names), "pruned": .integer(result.pruned),
                "newer": .integer(result.newer), "gone": .integer(result.gone),
            ])
    }

    private static func quarantinedName(_ call: Call) throws(JSONError) -> ActivityName? {
        guard let body = try call.object(known: ["name", "attributes_type"]) else { return nil }
        guard let type = body["attributes_type"] else { return try body["name"]?.activityName() }
        guard body["name"] == nil else { throw type.keyError("must not stand beside `name`") }
        return ActivityName(startTokensOf: try type.attributesType())
    }
}

extension QuarantinedName {
    fileprivate var json: JSON {
        let type = name.startTokensType
        return [
            (type == nil ? "name" : "attributes_type"): .string(type ?? name.rawValue), "tokens": .integer(tokens),
            "since": .string(TimeText.text(since)), "reasons": .array(reasons.map { .string($0) }),
        ]
    }
}
