public import StrictJSON

/// A JSON Schema, as far as the types of Swift's Codable need one: it tells whether a JSON value has the shape that an app
/// decodes, and if not, where not.
///
/// The subset, with the meaning of draft 2020-12: `type`, `properties`, `required`, `additionalProperties`, `items`,
/// `minItems`, `maxItems`, `enum`, `const`, `minimum`, `maximum`, `exclusiveMinimum`, `exclusiveMaximum`, `minLength`,
/// `maxLength`, `anyOf`, `oneOf`, `allOf`, `$ref` to `#`, `#/$defs/…` or `#/definitions/…`, and OpenAPI's `nullable`.
/// Annotations and `format` are read and mean nothing. Any other keyword is refused when the schema is read: a check that
/// is written down and not made would be worse than none.
public struct JSONSchema: Sendable {
    let nodes: [SchemaNode]

    /// Throws for the first keyword that is unknown, unsupported or malformed, with its path in the document.
    public init(_ schema: JSONValue) throws(JSONError) {
        var compiler = SchemaCompiler()
        try compiler.compile(root: schema)
        nodes = compiler.nodes
    }

    /// The first place where `value` differs from the schema, nil if it does nowhere.
    public func firstOffence(in value: JSONValue) -> JSONError? {
        var check = SchemaCheck(nodes: nodes)
        do throws(JSONError) {
            try check.check(value, against: 0)
            return nil
        } catch {
            return error
        }
    }
}

/// One schema object. Others are named by their index.
struct SchemaNode: Sendable {
    /// JSON Schema's types; `integer` is a number without fraction.
    enum TypeName: String, Sendable, CaseIterable {
        case object, array, string, number, integer, boolean, null
    }

    enum Additional: Sendable {
        case allowed, refused
        case schema(Int)
    }

    /// False: nothing matches (the schema `false`).
    var matchesSomething = true
    /// Nil: any.
    var types: [TypeName]?
    var properties: [(key: String, schema: Int)] = []
    var required: [String] = []
    var additional = Additional.allowed
    var items: Int?
    var itemCount: ClosedRange<Int>?
    /// Unicode code points.
    var length: ClosedRange<Int>?
    var values: [JSONValue]?
    var minimum: Double?
    var maximum: Double?
    var exclusiveMinimum: Double?
    var exclusiveMaximum: Double?
    var anyOf: [Int] = []
    var oneOf: [Int] = []
    var allOf: [Int] = []
    var reference: Int?

    /// Schemas that look at the same value as this one.
    var inPlace: [Int] { anyOf + oneOf + allOf + (reference.map { [$0] } ?? []) }
}
