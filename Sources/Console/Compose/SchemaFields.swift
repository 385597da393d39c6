import Answers
import StrictJSON

/// Fields for the members of a content state, from the schema of its attributes type. A value that no field can hold
/// stays JSON.
struct SchemaFields {
    private enum Kind: String { case text, number, whole, flag, choice }

    private struct Field {
        var key: String
        var title: String
        var kind: Kind
        var isRequired = false
        var choices: [String] = []
        var minimum: String?
        var maximum: String?
    }

    static let most = 40
    static let prefix = "f:"
    let type: String
    /// Members that no field can hold, such as objects and lists.
    let others: [String]
    /// The members of a start's attributes, as an example. Nil: the schema does not say.
    let attributes: String?
    private let fields: [Field]

    /// - Parameters:
    ///   - schema: a JSON Schema of the content state. Nil: it has no members that fields can hold.
    ///   - attributes: a JSON Schema of the attributes
    init?(type: String, schema: JSONObject, attributes: JSONObject? = nil) {
        let required = Set(schema.list("required").compactMap { try? $0.string() })
        fields = (schema.object("properties")?.members ?? []).prefix(Self.most).compactMap { key, value in
            guard let rules = try? value.object(), var field = Self.field(key, rules) else { return nil }
            field.isRequired = required.contains(key)
            return field
        }
        guard !fields.isEmpty else { return nil }
        self.type = type
        let members = attributes?.object("properties")?.members.map(\.key) ?? []
        self.attributes =
            members.isEmpty ? nil : "{" + members.map { "\(JSON.string($0).text): …" }.joined(separator: ", ") + "}"
        let held = Set(fields.map(\.key))
        others = (schema.object("properties")?.members ?? []).map(\.0).filter { !held.contains($0) }
    }

    private static func field(_ key: String, _ rules: JSONObject) -> Field? {
        let title = rules.text("title") ?? key
        if let choices = rules["enum"].flatMap({ try? $0.array() }) {
            let texts = choices.compactMap { try? $0.string() }
            return texts.count == choices.count ? Field(key: key, title: title, kind: .choice, choices: texts) : nil
        }
        let kinds: [String: Kind] = ["string": .text, "number": .number, "integer": .whole, "boolean": .flag]
        guard let kind = rules.text("type").flatMap({ kinds[$0] }) else { return nil }
        return Field(
            key: key, title: title, kind: kind, minimum: rules["minimum"]?.text, maximum: rules["maximum"]?.text)
    }

    /// For the template.
    /// - Parameters:
    ///   - state: the content state, nil if it cannot be read
    ///   - form: the fields as they were sent, which are kept then
    ///   - wrong: the name of a field that has a mistake
    ///   - before: the state that the cards show, with which a change is compared; nil: not known
    func shown(
        _ state: JSONValue?, typed form: Form, wrong: String? = nil, before: StateText? = nil
    ) -> [Values] {
        let object = try? state?.object()
        return fields.map { field in
            let value = object?[field.key]
            let typed = state == nil ? form[Self.prefix + field.key] : ""
            let text = value.map { value in (try? value.string()) ?? (value.kind == .null ? "" : value.text) } ?? typed
            let was = before.map { before in before[field.key].map { StateText.shown($0) } ?? "" }
            let choices: [String] = field.kind == .flag ? ["", "true", "false"] : [""] + field.choices
            let isChoice = field.kind == .flag || field.kind == .choice
            return values([
                "field": Self.prefix + field.key, "id": "f-\(field.key.utf8.map { String($0, radix: 16) }.joined())",
                "key": field.key, "title": field.title, "kind": field.kind.rawValue, "text": text,
                "required": field.isRequired ? true : nil,
                "wrong": wrong == Self.prefix + field.key ? true : nil,
                "choices": isChoice ? Options.list(choices, chosen: text, empty: "–") : nil,
                "isChoice": isChoice ? true : nil,
                "isNumber": field.kind == .number || field.kind == .whole ? true : nil,
                "isText": field.kind == .text ? true : nil, "step": field.kind == .whole ? "1" : "any",
                "minimum": field.minimum, "maximum": field.maximum, "was": was,
                "wasShown": was.map { $0.isEmpty ? "nothing" : $0 },
                "changed": was != nil && was != text ? true : nil,
            ])
        }
    }

    /// Whether fields hold all members of a state, so that nobody needs its JSON.
    func holds(_ state: JSONValue?) -> Bool {
        let keys = Set(fields.map(\.key))
        return others.isEmpty && (try? state?.object())?.members.allSatisfy { keys.contains($0.key) } == true
    }

    /// The title of the field that holds a member.
    func title(_ key: String) -> String? { fields.first { $0.key == key }?.title }

    /// The content state with what the form's fields say. The script does the same while one types; without a script
    /// this is how the fields get in.
    func applied(_ form: Form) -> String? {
        guard form.fields.contains(where: { $0.name.hasPrefix(Self.prefix) }), form["state"] == form["state_before"]
        else { return nil }
        guard var state = StateText(form["state"]) else { return nil }
        for field in fields where form.has(Self.prefix + field.key) {
            let entered = form[Self.prefix + field.key]
            guard !entered.isEmpty else {
                state[field.key] = nil
                continue
            }
            let isText = field.kind == .text || field.kind == .choice
            let value = isText ? JSON.string(entered).text : entered
            guard (try? JSONDocument(value)) != nil else { return nil }
            state[field.key] = value
        }
        // An end without a state stays without one.
        if state.members.isEmpty, form.text("state") == nil { return nil }
        return state.text
    }

    /// The attributes type of a name's cards: its own, or the type of the schema that fits best.
    static func type(of name: String, _ activity: ActivityAnswer?, _ visit: Visit) async throws -> String? {
        if let type = activity?.attributesType { return type }
        let listing: SchemasAnswer? = try await visit.allowed("/api/schemas")
        return listing.flatMap { best($0, name) }
    }

    /// The fields of the type that a start gives, or of the type of the name's cards. Nil without a schema.
    static func find(_ visit: Visit, _ compose: ComposeForm, known type: String?) async throws -> SchemaFields? {
        guard let type = compose.startType ?? type,
            let document: [UInt8] = try await visit.allowed({
                try await visit.find("/api/schemas/\(Form.encoded(type))")
            }),
            let parts = try? JSONDocument(document).root.object(), let schema = parts.object("content_state")
        else { return nil }
        return SchemaFields(type: type, schema: schema, attributes: parts.object("attributes"))
    }

    private static func best(_ listing: SchemasAnswer, _ name: String) -> String? {
        let fitting = listing.schemas.filter(\.contentState).compactMap { schema -> (type: String, fit: Int)? in
            let names = (try? schema.names.value?.array()) ?? []
            let fits = names.compactMap { try? $0.string() }.compactMap { fit($0, name) }
            return fits.max().map { (schema.attributesType, $0) }
        }
        return fitting.max { ($0.fit, $1.type) < ($1.fit, $0.type) }?.type
    }

    /// How well a pattern fits a name, by the gateway's rule: a whole name beats a beginning, a longer beginning a
    /// shorter one.
    private static func fit(_ pattern: String, _ name: String) -> Int? {
        guard pattern.hasSuffix("*") else { return pattern == name ? .max : nil }
        return name.hasPrefix(pattern.dropLast()) ? pattern.utf8.count : nil
    }
}
