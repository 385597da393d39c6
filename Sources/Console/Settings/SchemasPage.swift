import Answers
import StrictJSON

/// The schemas of the app: of each attributes type the members that a content state may have, and the names that have
/// the type.
enum SchemasPage {
    private static let example = """
        {
          "names": ["match-*"],
          "content_state": {
            "type": "object",
            "properties": {
              "home": {"type": "integer", "minimum": 0, "title": "Goals home"}
            },
            "required": ["home"]
          }
        }
        """
    /// The most members that a page lists. The document has the others.
    private static let most = 200
    /// Rules of a member that the list shows, besides its kind.
    private static let rules = [
        "minimum", "maximum", "minLength", "maxLength", "pattern", "format", "minItems", "maxItems", "const",
    ]

    static func show(_ visit: Visit) async throws -> ConsoleResponse { try await list(visit) }

    static func one(_ visit: Visit) async throws -> ConsoleResponse { try await one(visit, refused: nil) }

    /// Puts a document, new or changed.
    static func set(_ visit: Visit) async throws -> ConsoleResponse {
        let isNew = visit.parameters["type"] == nil
        guard let type = isNew ? visit.form.text("attributes_type") : visit.parameter("type") else {
            return try await list(visit, refused: ConsoleFailure(422, "Give the attributes type of your app’s cards."))
        }
        let answer = await visit.answer(
            "PUT", "/api/schemas/\(Form.encoded(type))", document: Array(visit.form["document"].utf8))
        guard (200..<300).contains(answer.status) else {
            let failure = ConsoleFailure(answer)
            return try await isNew ? list(visit, refused: failure) : one(visit, refused: failure)
        }
        return visit.redirect("/console/schemas/\(Form.encoded(type))", .schemaSet)
    }

    static func delete(_ visit: Visit) async throws -> ConsoleResponse {
        let type = visit.parameter("type")
        let path = "/console/schemas/\(Form.encoded(type))"
        let sentence =
            "Pushes of this type are no longer checked, and Compose shows JSON in place of fields. Cards stay as they are."
        if let page = visit.confirmation(
            "Delete the schema of \(type)?", sentence, button: "Delete", back: path)
        {
            return page
        }
        try await visit.call("DELETE", "/api/schemas/\(Form.encoded(type))")
        return visit.redirect("/console/schemas", .schemaDeleted)
    }

    private static func list(_ visit: Visit, refused: ConsoleFailure? = nil) async throws -> ConsoleResponse {
        let file = try await Export.file(visit, "/api/schemas", "schemas", columns: ListedSchemaAnswer.memberNames)
        if let file { return file }
        let found: SchemasAnswer = try await visit.get("/api/schemas")
        let rows = found.schemas.map { schema -> Values in
            let names = ((try? schema.names.value?.array()) ?? []).compactMap { try? $0.string() }
            let parts = [schema.contentState ? "content state" : nil, schema.attributes ? "attributes" : nil]
            return values([
                "type": schema.attributesType, "path": "/console/schemas/\(Form.encoded(schema.attributesType))",
                "parts": parts.compactMap(\.self).joined(separator: ", "),
                "names": names.isEmpty ? nil : names.map { ["pattern": $0] as Values },
            ])
        }
        var page = values([
            "schemas": rows, "empty": rows.isEmpty ? true : nil, "isOpen": refused == nil ? nil : true,
            "wantedType": visit.form["attributes_type"],
            "document": visit.form.has("document") ? visit.form["document"] : example,
            "pager": Pager.values(visit, next: nil, keeping: []),
        ])
        page.merge(problem(refused)) { $1 }
        return visit.page("schemas", "Schemas", page, status: status(refused))
    }

    private static func one(_ visit: Visit, refused: ConsoleFailure?) async throws -> ConsoleResponse {
        let type = visit.parameter("type")
        guard let bytes: [UInt8] = try await visit.find("/api/schemas/\(Form.encoded(type))"),
            let document = try? JSONDocument(bytes).root, let body = try? document.object()
        else { throw ConsoleFailure(404, "The app has no schema of the attributes type \(type).") }
        let parts = [("content_state", "Content state"), ("attributes", "Attributes")].compactMap { key, title in
            body.object(key).map { schema -> Values in
                let members = members(schema)
                return values(["title": title, "members": members, "none": members.isEmpty ? true : nil])
            }
        }
        let names = body.list("names").compactMap { try? $0.string() }
        var page = values([
            "type": type, "path": "/console/schemas/\(Form.encoded(type))", "parts": parts,
            "names": names.isEmpty ? nil : names.map { ["pattern": $0] as Values },
            "isOpen": refused == nil ? nil : true,
            "document": visit.form.has("document") ? visit.form["document"] : JSONLayout.lines(document),
        ])
        page.merge(problem(refused)) { $1 }
        return visit.page("schema", type, page, status: status(refused))
    }

    /// The members of a schema. A member of an inner object has the object's name and a point before its own.
    private static func members(_ schema: JSONObject, in outer: String = "") -> [Values] {
        let required = Set(schema.list("required").compactMap { try? $0.string() })
        var found: [Values] = []
        for (key, value) in schema.object("properties")?.members ?? [] where found.count < most {
            guard let member = try? value.object() else { continue }
            let choices = member["enum"].map(\.text)
            found.append(
                values([
                    "key": outer + key, "label": member.text("title"), "about": member.text("description"),
                    "kind": choices ?? member["type"].map { (try? $0.string()) ?? $0.text } ?? "anything",
                    "required": required.contains(key) ? true : nil,
                    "rules": rules.compactMap { rule in member[rule].map { "\(rule) \($0.text)" } }
                        .joined(separator: ", "),
                ]))
            // Four levels are more than a person reads.
            if outer.split(separator: ".").count < 3 { found += members(member, in: "\(outer)\(key).") }
        }
        return Array(found.prefix(most))
    }

    private static func problem(_ refused: ConsoleFailure?) -> Values {
        guard let refused else { return [:] }
        let place = refused.location.map { "Line \($0.line), column \($0.column): " }
        let path = refused.path.map { "\($0) " } ?? ""
        return ["problem": (place ?? "") + (refused.plain.map { path + $0 } ?? refused.message)]
    }

    private static func status(_ refused: ConsoleFailure?) -> Int {
        refused.map { $0.status == 400 ? 422 : $0.status } ?? 200
    }
}
