import JSONSchema
import LiveActivity
import StrictJSON

/// The document of an attributes type: its schemas, and the names that have this type by default.
struct SchemaDocument: Sendable {
    static let maximumBytes = 64 << 10
    static let maximumNames = 100
    private static let star = UInt8(ascii: "*")
    var contentState: JSONSchema?
    var attributes: JSONSchema?
    /// Names, or beginnings of names followed by `*`.
    var names: [ExactText] = []

    init(_ value: JSONValue) throws(JSONError) {
        let body = try value.object(known: ["content_state", "attributes", "names"])
        if let value = body["content_state"] { contentState = try JSONSchema(value) }
        if let value = body["attributes"] { attributes = try JSONSchema(value) }
        guard contentState != nil || attributes != nil else {
            throw body.missing("content_state", "or `attributes` is required, with a JSON Schema")
        }
        guard let list = body["names"] else { return }
        for value in try list.array(atMost: Self.maximumNames, "names") {
            let text = try value.string()
            if text != "*" {
                let stars = text.parts(between: Self.star)
                guard stars.count == 1 || stars.count == 2 && stars[1].isEmpty else {
                    throw value.error("may have a * at its end only")
                }
                _ = try value.identifier { _ throws(IdentifierError) in try ActivityName(stars[0]) }
            }
            names.append(ExactText(text))
        }
    }

    /// How well a name fits the document's names: a longer match is greater, a whole name greatest. Nil if none fits.
    func fit(_ name: ActivityName) -> Int? {
        names.compactMap { pattern in
            if let beginning = pattern.description.cut(at: Self.star)?.head {
                return name.rawValue.rest(behind: beginning) == nil ? nil : beginning.utf8.count
            }
            return pattern == name.exact ? ActivityName.maximumBytes + 1 : nil
        }.max()
    }
}
