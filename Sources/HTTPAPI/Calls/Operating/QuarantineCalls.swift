import Answers
import LiveActivity
import Store
import StrictJSON

/// Calls about tokens that the prune guard put into quarantine.
struct QuarantineCalls: CallGroup {
    private let quarantine: Quarantine

    init(_ parts: GatewayParts) { quarantine = parts.store.quarantine }

    func list(_ call: Call) async throws -> Answer {
        let names = try await quarantine.list(call.app.key, limit: call.limit())
        let total = try await quarantine.count(call.app.key)
        return Answer(200, QuarantineAnswer(totalNames: total, names: names.map(\.answer)))
    }

    /// Body: `{"name"?}`, or `{"attributes_type"}` for start tokens. Without these, every name of the app is released.
    func release(_ call: Call) async throws -> Answer {
        let place = try Self.quarantinedPlace(call)
        let result = try await quarantine.release(call.app.key, place)
        return Answer(200, ReleasedAnswer(names: result.names, released: result.released))
            .about(Self.subjects(place), count: result.released)
    }

    func discard(_ call: Call) async throws -> Answer {
        let place = try Self.quarantinedPlace(call)
        let result = try await quarantine.discard(call.app.key, place)
        let body = DiscardedAnswer(names: result.names, pruned: result.pruned, newer: result.newer, gone: result.gone)
        return Answer(200, body).about(Self.subjects(place), count: result.pruned)
    }

    private static func subjects(_ place: TokenPlace?) -> [Action.Subject: String?] {
        switch place {
        case .activity(let name)?: [.name: name.rawValue]
        case .startTokens?: [.attributesType: place?.typeText]
        case nil: [:]
        }
    }

    private static func quarantinedPlace(_ call: Call) throws(JSONError) -> TokenPlace? {
        guard let body = try call.object(known: ["name", "attributes_type"]) else { return nil }
        guard let type = body["attributes_type"] else {
            return try (body["name"]?.activityName()).map(TokenPlace.activity)
        }
        guard body["name"] == nil else { throw type.keyError("must not stand beside `name`") }
        return try type.identifier(TokenPlace.init(typeText:))
    }
}

extension QuarantinedTokens {
    fileprivate var answer: QuarantinedAnswer {
        let (name, type): (String?, String?) =
            switch place {
            case .activity(let name): (name.rawValue, nil)
            case .startTokens: (nil, place.typeText)
            }
        return QuarantinedAnswer(
            name: name, attributesType: type, tokens: tokens, since: TimeText.text(since), reasons: reasons)
    }
}
