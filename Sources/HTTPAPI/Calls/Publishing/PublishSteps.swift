import APNsWire
import JSONSchema
import LiveActivity
import OpenSSL
import Store
import StrictJSON

/// The steps that a publish, a schedule and a dry run share.
struct PublishSteps {
    private let pushes: Pushes
    private let broadcasts: Broadcasts
    private let names: Names
    private let schemas: Schemas
    private let cache: SchemaCache

    init(_ parts: GatewayParts) {
        (pushes, broadcasts) = (parts.store.pushes, parts.store.broadcasts)
        (names, schemas, cache) = (parts.store.names, parts.store.schemas, parts.schemas)
    }

    /// Checks pushes against schemas and broadcast channels, and returns the warnings of all checks.
    func check(_ pushes: [PublishBody.Push], _ call: Call) async throws -> [String] {
        try await pushes.flatMap(\.warnings) + checkSchemas(pushes, call) + checkSizes(pushes, call)
    }

    /// Accepts 4,097 to 5,120 bytes only for a name with a broadcast channel, and warns that they go only there.
    func checkSizes(_ pushes: [PublishBody.Push], _ call: Call) async throws -> [String] {
        var warnings: [String] = []
        for push in pushes {
            guard let oversize = push.oversize else { continue }
            guard try await broadcasts.takesPushes(call.app.key, push.publish.name) else { throw oversize }
            let tokens = try await names.info(call.app.key, push.publish.name)?.tokens ?? 0
            warnings.append(
                "\(oversize.path): the payload is over \(Payload.maximumBytes) bytes: it goes to the broadcast channel"
                    + " alone" + (tokens > 0 ? ", and the tokens that follow the name fail with PayloadTooLarge" : ""))
        }
        return warnings
    }

    /// Compares content states and attributes with the schemas of their attributes type, and returns warnings. A start
    /// names its type. Other pushes have the type that is remembered for their name, or else the type whose names fit.
    func checkSchemas(_ pushes: [PublishBody.Push], _ call: Call) async throws -> [String] {
        let app = call.app.key
        let compiled = try await cache.compiled(app)
        guard !compiled.types.isEmpty || !compiled.unreadable.isEmpty else { return [] }
        let names = Array(Set(pushes.filter { $0.publish.attributesType == nil }.map(\.publish.name)))
        let remembered = try await names.isEmpty ? [] : schemas.types(app, names)
        var types: [ActivityName: ExactText] = [:]
        for (name, type) in zip(names, remembered) { types[name] = type.map { ExactText($0) } }
        var warnings: [String] = []
        for push in pushes {
            let name = push.publish.name
            let started = push.publish.attributesType.map { ExactText($0) }
            guard let type = started ?? types[name] ?? compiled.type(for: name) else { continue }
            if compiled.unreadable.contains(type) {
                warnings.append("the schema of \(type) was not checked: a newer version of Lamplighter wrote it")
            }
            guard let document = compiled.types[type] else { continue }
            try Self.check(push.contentState, document.contentState, type)
            try Self.check(push.attributes, document.attributes, type)
        }
        return warnings
    }

    private static func check(_ value: JSONValue?, _ schema: JSONSchema?, _ type: ExactText) throws(JSONError) {
        guard let value, let offence = schema?.firstOffence(in: value) else { return }
        throw JSONError(
            message: "\(offence.message) (schema of \(type))", path: offence.path, location: offence.location)
    }

    /// New ids, or the ids that an earlier request with the same Idempotency-Key got.
    /// - Returns: the ids, and whether an earlier request got them
    func ids(_ count: Int, _ key: String?, _ call: Call) async throws -> (ids: [PushID], areKnown: Bool) {
        let fresh = pushes.freshIDs(call.app.key, count: count)
        guard let key else { return (fresh, false) }
        let digest = Array(SHA256Digest(of: call.body.collect()))
        let reserved = try await pushes.reserve(
            call.app.key, idempotencyKey: call.ownKey(key), bodyDigest: digest, ids: fresh)
        guard let reserved, reserved.count == count else { throw APIError.idempotencyConflict }
        return (reserved, reserved != fresh)
    }

    /// Remembers for each name the type that its last start gave.
    func rememberTypes(_ pushes: [PublishBody.Push], _ call: Call) async throws {
        for push in pushes {
            guard let type = push.publish.attributesType else { continue }
            try await schemas.describe(call.app.key, push.publish.name, type: type)
        }
    }
}

extension APIError {
    static let idempotencyConflict = APIError(
        409, "This Idempotency-Key was used with another body within the last 24 hours: use a new key for a new body.")
}

extension GatewayApp {
    /// The app and the rules that bodies of its pushes are read for.
    var reading: PublishBody.Reading {
        PublishBody.Reading(platforms: platforms, staleAfter: staleAfter, marks: takesReceipts)
    }
}

extension Call {
    /// The pushes of the body. Refuses names that the caller's credential is not for.
    func pushes() throws -> [PublishBody.Push] {
        let pushes = try PublishBody.parse(body.collect(), now: now, app.reading)
        for push in pushes { try check(push.publish.name) }
        return pushes
    }

    /// Adds the publisher, and the app's settings for pushes of this event: their life, which counts from the
    /// acceptance, and whether a start respects dismissals.
    func completed(_ publish: Publish) -> Publish {
        var publish = publish
        publish.life = app.lives[publish.event]
        if publish.event == .start, publish.options.respectDismissal == nil {
            publish.options.respectDismissal = app.respectsDismissal
        }
        publish.publisher = caller
        return publish
    }
}
