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
                names: names(body, call))
        }
        return Answer(200, SchemasAnswer(schemas: schemas))
    }

    /// Returns the document exactly as it was put, but for the names that the caller may not know.
    func show(_ call: Call) async throws -> Answer {
        let document = try await schemas.document(call.app.key, type: call.parameter("attributes_type"))
        guard let document else { throw APIError.noSuchSchema }
        guard call.namePrefix != nil, let body = try? JSONDocument(document).root.object() else {
            return Answer(200, json: document)
        }
        let members = body.members.map { key, value in
            JSON.Member(key, key == "names" ? .raw(names(body, call).bytes) : .raw(Array(value.raw)))
        }
        return Answer(200, json: JSON.object(members).bytes)
    }

    /// The patterns of a schema that may fit a name of the caller. Others would tell names of other publishers.
    private func names(_ body: JSONObject?, _ call: Call) -> RawJSON {
        guard let names = body?["names"] else { return RawJSON(checked: "[]") }
        guard let prefix = call.namePrefix else { return RawJSON(answer: names) }
        let own = ((try? names.array()) ?? []).compactMap { try? $0.string() }.filter { pattern in
            let stem = pattern.utf8.prefix { $0 != UInt8(ascii: "*") }
            return stem.starts(with: prefix.utf8) || pattern.hasSuffix("*") && prefix.utf8.starts(with: stem)
        }
        return RawJSON(checked: JSON.array(own.map(JSON.string)).text)
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
        for (other, known) in try await cache.compiled(app).types where other != ExactText(type) {
            guard let name = document.names.first(where: known.names.contains) else { continue }
            throw APIError(409, "names: \(JSON.string("\(name)").text) belongs to the schema of \(other).")
        }
        let hasRoom = try await schemas.set(app, type: type, document: Array(root.raw))
        cache.forget(app)
        guard hasRoom else {
            throw APIError(409, "An app may have \(Schemas.maximum) schemas: delete one first.")
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
