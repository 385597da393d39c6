import LiveActivity
import Store
import StrictJSON

/// Calls about tokens that the prune guard put into quarantine.
extension Handlers {
    func listQuarantine(_ call: Call) async throws(APIError) -> Answer {
        let limit = try call.limit()
        let (names, total) = try await storing { () throws(StoreError) in
            (
                try await store.quarantine.list(call.app.key, limit: limit),
                try await store.quarantine.count(call.app.key)
            )
        }
        return Answer(
            200, ["ok": true, "total_names": .integer(total), "names": .array(names.map(\.json))])
    }

    /// Releases tokens. Body: `{"name"?}`, or `{"attributes_type"}` for start
    /// tokens. Without these, every name of the app.
    func releaseQuarantine(_ call: Call) async throws(APIError) -> Answer {
        let name = try await quarantinedName(call)
        let result = try await storing { () throws(StoreError) in
            try await store.quarantine.release(call.app.key, name)
        }
        return Answer(
            200, ["ok": true, "names": .integer(result.names), "released": .integer(result.released)])
    }

    func discardQuarantine(_ call: Call) async throws(APIError) -> Answer {
        let name = try await quarantinedName(call)
        let result = try await storing { () throws(StoreError) in
            try await store.quarantine.discard(call.app.key, name)
        }
        return Answer(
            200,
            [
                "ok": true, "names": .integer(result.names), "pruned": .integer(result.pruned),
                "newer": .integer(result.newer), "gone": .integer(result.gone),
            ])
    }

    private func quarantinedName(_ call: Call) async throws(APIError) -> ActivityName? {
        let bytes = call.body.collect()
        if bytes.isEmpty { return nil }
        return try reading { () throws(JSONError) in
            let body = try JSONDocument(bytes).root.object()
            try body.refuseUnknownKeys(known: ["name", "attributes_type"])
            if let type = body["attributes_type"] {
                guard body["name"] == nil else { throw type.keyError("stands in place of a name") }
                return try identifier(type) { text throws(IdentifierError) in
                    try checkAttributesType(text)
                    return ActivityName(startTokensOf: text)
                }
            }
            return try body["name"].map { value throws(JSONError) in
                try identifier(value) { text throws(IdentifierError) in try ActivityName(text) }
            }
        }
    }
}

extension QuarantinedName {
    fileprivate var json: JSON {
        let place: JSON.Member =
            if let type = name.startTokensType {
                JSON.Member("attributes_type", .string(type))
            } else {
                JSON.Member("name", .string(name.rawValue))
            }
        return .object([
            place, JSON.Member("tokens", .integer(tokens)), JSON.Member("since", .string(TimeText.text(since))),
            JSON.Member("reasons", .array(reasons.map { .string($0) })),
        ])
    }
}
