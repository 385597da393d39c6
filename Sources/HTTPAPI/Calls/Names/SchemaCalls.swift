import Answers
import JSONSchema
import LiveActivity
import Store
import StrictJSON

extension Handlers {
    /// Like `checkSchemas`, but for a dry run, which also works without Redis.
    func checkSchemasIfPossible(_ pushes: [PublishBody.Push], _ call: Call) async throws -> [String] {
        do {
            return try await checkSchemas(pushes, call)
        } catch {
            guard APIError(thrown: error).status == 503 else { throw error }
            return ["schemas were not checked: Redis is not reachable"]
        }
    }

    /// Compares content states and attributes with the schemas of their attributes type, and returns warnings. A start
    /// names its type. Other pushes have the type that is remembered for their name, or else the type whose names fit.
    func checkSchemas(_ pushes: [PublishBody.Push], _ call: Call) async throws -> [String] {
        let app = call.app.key
        let snapshot = try await schemas.snapshot(app)
        guard !snapshot.types.isEmpty || !snapshot.unreadable.isEmpty else { return [] }
        let names = Array(Set(pushes.filter { $0.publish.attributesType == nil }.map(\.publish.name)))
        let remembered = try await names.isEmpty ? [] : store.schemas.types(app, names)
        var types: [ActivityName: ExactText] = [:]
        for (name, type) in zip(names, remembered) { types[name] = type.map { ExactText($0) } }
        var warnings: [String] = []
        for push in pushes {
            let name = push.publish.name
            let started = push.publish.attributesType.map { ExactText($0) }
            guard let type = started ?? types[name] ?? snapshot.type(for: name) else { continue }
            if snapshot.unreadable.contains(type) {
                warnings.append("the schema of \(type) was not checked: a newer version of Lamplighter wrote it")
            }
            guard let document = snapshot.types[type] else { continue }
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

    /// Remembers for each name the type that its last start gave.
    func rememberTypes(_ pushes: [PublishBody.Push], _ call: Call) async throws {
        for push in pushes {
            guard let type = push.publish.attributesType else { continue }
            try await store.schemas.describe(call.app.key, push.publish.name, type: type)
        }
    }

    /// `PUT /api/activities/{name}` `{"attributes_type": …}`. Null forgets the type.
    func describeActivity(_ call: Call) async throws -> Answer {
        let name = try call.name()
        let body = try JSONDocument(call.body.collect()).root.object(known: ["attributes_type"])
        let value = try body.required("attributes_type")
        let type = try value.kind == .null ? nil : value.attributesType()
        try await store.schemas.describe(call.app.key, name, type: type)
        return Answer(200, DoneAnswer())
    }

    func listSchemas(_ call: Call) async throws -> Answer {
        let set = try await store.schemas.all(call.app.key)
        let schemas = set.documents.sorted { $0.key < $1.key }.map { type, bytes in
            let body = try? JSONDocument(bytes).root.object()
            return ListedSchemaAnswer(
                attributesType: "\(type)", contentState: body?["content_state"] != nil,
                attributes: body?["attributes"] != nil,
                names: body?["names"].map(RawJSON.init(answer:)) ?? RawJSON(checked: "[]"))
        }
        return Answer(200, SchemasAnswer(schemas: schemas))
    }

    /// Returns the document exactly as it was put.
    func schema(_ call: Call) async throws -> Answer {
        let document = try await store.schemas.document(call.app.key, type: call.parameter("attributes_type"))
        guard let document else { throw APIError.noSuchSchema }
        return Answer(200, json: document)
    }

    func setSchema(_ call: Call) async throws -> Answer {
        let (app, type) = (call.app.key, try call.attributesType())
        let bytes = call.body.collect()
        guard bytes.count <= SchemaDocument.maximumBytes else {
            throw APIError.bodyTooLarge(limit: SchemaDocument.maximumBytes)
        }
        let root = try JSONDocument(bytes).root
        let document = try SchemaDocument(root)
        schemas.forget(app)
        for (other, known) in try await schemas.snapshot(app).types where other != ExactText(type) {
            guard let name = document.names.first(where: known.names.contains) else { continue }
            throw APIError(409, "names: \(JSON.string("\(name)").text) belongs to the schema of \(other).")
        }
        let hasRoom = try await store.schemas.set(app, type: type, document: Array(root.raw))
        schemas.forget(app)
        guard hasRoom else {
            let limit = "An app may have \(store.schemas.maximum) schemas (limits.schemas)"
            throw APIError(409, "\(limit): delete one first, or raise the setting.")
        }
        return Answer(200, DoneAnswer())
    }

    func deleteSchema(_ call: Call) async throws -> Answer {
        let wasThere = try await store.schemas.delete(call.app.key, type: call.parameter("attributes_type"))
        schemas.forget(call.app.key)
        guard wasThere else { throw APIError.noSuchSchema }
        return .empty
    }
}
