import LiveActivity
import Store
import StrictJSON

/// Calls about tokens that the prune guard put into quarantine.
extension Handlers {
    func listQuarantine(_ call: Call) async throws -> Answer {
        let names = try await store.quarantine.list(call.app.key, limit: call.limit())
        let total = try await store.quarantine.count(call.app.key)
        return Answer(200, ["ok": true, "total_names": .integer(total), "names": .array(names.map(\.json))])
    }

    /// Body: `{"name"?}`, or `{"attributes_type"}` for start tokens. Without these, every name of the app is released.
    func releaseQuarantine(_ call: Call) async throws -> Answer {
        let place = try Self.quarantinedPlace(call)
        let result = try await store.quarantine.release(call.app.key, place)
        return Answer(200, ["ok": true, "names": .integer(result.names), "released": .integer(result.released)])
            .about(Self.subjects(place), count: result.released)
    }

    func discardQuarantine(_ call: Call) async throws -> Answer {
        let place = try Self.quarantinedPlace(call)
        let result = try await store.quarantine.discard(call.app.key, place)
        let body: JSON = [
            "ok": true, "names": .integer(result.names), "pruned": .integer(result.pruned),
            "newer": .integer(result.newer), "gone": .integer(result.gone),
        ]
        return Answer(200, body).about(Self.subjects(place), count: result.pruned)
    }

    private static func subjects(_ place: TokenPlace?) -> [Action.Subject: String?] {
        switch place {
        case .activity(let name)?: [.name: name.rawValue]
        case .startTokens(let type)?: [.attributesType: type]
        case nil: [:]
        }
    }

    private static func quarantinedPlace(_ call: Call) throws(JSONError) -> TokenPlace? {
        guard let body = try call.object(known: ["name", "attributes_type"]) else { return nil }
        guard let type = body["attributes_type"] else {
            return try (body["name"]?.activityName()).map(TokenPlace.activity)
        }
        guard body["name"] == nil else { throw type.keyError("must not stand beside `name`") }
        return .startTokens(of: try type.attributesType())
    }
}

extension QuarantinedTokens {
    fileprivate var json: JSON {
        let (key, text) =
            switch place {
            case .activity(let name): ("name", name.rawValue)
            case .startTokens(let type): ("attributes_type", type)
            }
        return [
            key: .string(text), "tokens": .integer(tokens),
            "since": .string(TimeText.text(since)), "reasons": .array(reasons.map { .string($0) }),
        ]
    }
}
