public import StrictJSON

/// A JSON Schema, as far as the types of Swift's Codable need one: it tells where a JSON value differs from the shape
/// that an app decodes. The supported keywords have the meaning of draft 2020-12: `type`, `properties`, `required`,
/// `additionalProperties`, `items`, `minItems`, `maxItems`, `enum`, `const`, `minimum`, `maximum`, `exclusiveMinimum`,
/// `exclusiveMaximum`, `minLength`, `maxLength`, `anyOf`, `oneOf`, `allOf`, `$ref` to `#`, `#/$defs/…` or
/// `#/definitions/…`, and OpenAPI's `nullable`. Annotations and `format` are read but have no effect. Others are
/// refused, because a check that is written but never made would be worse than none.
public struct JSONSchema: Sendable {
    let nodes: [SchemaNode]

    /// Reads a schema. Throws for the first keyword that is unknown, unsupported or malformed, with its path.
    public init(_ schema: JSONValue) throws(JSONError) {
        var compiler = SchemaCompiler()
        try compiler.compile(root: schema)
        nodes = compiler.nodes
    }

    /// The first place where `value` differs from the schema. Nil if it matches.
    public func firstOffence(in value: JSONValue) -> JSONError? {
        var check = SchemaCheck(nodes: nodes)
        do throws(JSONError) { try check.check(value, against: 0) } catch { return error }
        return nil
    }
}
