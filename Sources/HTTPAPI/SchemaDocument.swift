import JSONSchema
import LiveActivity
import StrictJSON

/// What is registered for an attributes type: schemas of its content state and its attributes, and the names that are of
/// that type without being told.
struct SchemaDocument: Sendable {
    static let maximumBytes = 64 << 10
    static let maximumNames = 100

    var contentState: JSONSchema?
    var attributes: JSONSchema?
    /// Names, or beginnings of names that end in `*`.
    var names: [String] = []

    init(_ value: JSONValue) throws(JSONError) {
        let body = try value.object()
        try body.refuseUnknownKeys(known: ["content_state", "attributes", "names"])
        contentState = try body["content_state"].map { value throws(JSONError) in try JSONSchema(value) }
        attributes = try body["attributes"].map { value throws(JSONError) in try JSONSchema(value) }
        guard contentState != nil || attributes != nil else {
            throw body.missing("content_state", "or `attributes` is required, with a JSON Schema")
        }
        guard let list = body["names"] else { return }
        let values = try list.array()
        guard values.count <= Self.maximumNames else {
            throw list.error("must hold at most \(Self.maximumNames) names, not \(values.count)")
        }
        for value in values {
            let text = try value.string()
            if text == "*" {
                names.append(text)
                continue
            }
            guard !text.dropLast().contains("*") else { throw value.error("may have a * at its end only") }
            _ = try identifier(value) { text throws(IdentifierError) in
                try ActivityName(text.hasSuffix("*") ? String(text.dropLast()) : text)
            }
            names.append(text)
        }
    }

    /// How well a name fits one of the document's: the length of what fits, more for the whole name; nil if it does not.
    func fit(_ name: ActivityName) -> Int? {
        names.compactMap { pattern in
            if pattern.hasSuffix("*") {
                return name.rawValue.hasPrefix(pattern.dropLast()) ? pattern.utf8.count - 1 : nil
            }
            return pattern == name.rawValue ? ActivityName.maximumBytes + 1 : nil
        }.max()
    }
}
