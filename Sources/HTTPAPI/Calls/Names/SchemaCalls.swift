import Answers
import LiveActivity
import Store
import StrictJSON

/// The schemas of an app, each for one attributes type.
struct SchemaCalls: CallGroup {
    private let schemas: Schemas
    private let cache: SchemaCache

    init(_ parts: GatewayParts) { (schemas, cache) = (parts.store.schemas, parts.schemas) }

    func list(_ call: Call) async throws -> Answer {
        let set = try await schemas.all(call.app.key)
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
    func show(_ call: Call) async throws -> Answer {
        let document = try await schemas.document(call.app.key, type: call.parameter("attributes_type"))
        guard let document else { throw APIError.noSuchSchema }
        return Answer(200, json: document)
    }

    func set(_ call: Call) async throws -> Answer {
        let (app, type) = (call.app.key, try call.attributesType())
        let bytes = call.body.collect()
        guard bytes.count <= SchemaDocument.maximumBytes else {
            throw APIError.bodyTooLarge(limit: SchemaDocument.maximumBytes)
        }
        let root = try JSONDocument(bytes).root
        let document = try SchemaDocument(root)
        cache.forget(app)
        for (other, known) in try await cache.snapshot(app).types where other != ExactText(type) {
            guard let name = document.names.first(where: known.names.contains) else { continue }
            throw APIError(409, "names: \(JSON.string("\(name)").text) belongs to the schema of \(other).")
        }
        let hasRoom = try await schemas.set(app, type: type, document: Array(root.raw))
        cache.forget(app)
        guard hasRoom else {
            let limit = "An app may have \(schemas.maximum) schemas (limits.schemas)"
            throw APIError(409, "\(limit): delete one first, or raise the setting.")
        }
        return Answer(200, DoneAnswer())
    }

    func delete(_ call: Call) async throws -> Answer {
        let wasThere = try await schemas.delete(call.app.key, type: call.parameter("attributes_type"))
        cache.forget(call.app.key)
        guard wasThere else { throw APIError.noSuchSchema }
        return .empty
    }
}
