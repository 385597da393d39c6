public import StrictJSON

/// Describes a body's members as a JSON Schema.
public struct FieldSchema<Body>: Fields {
    private var properties: [JSON.Member] = []
    private var required: [JSON] = []
    private(set) var bodies: [any AnswerBody.Type] = []

    var names: [String] { properties.map(\.key) }

    init() {}

    public mutating func always<Value: AnswerValue>(
        _ name: String, _ read: (Body) -> Value, _ shape: () -> Shape, or missing: Value?
    ) -> Value {
        bodies += Value.answerBodies
        add(name, shape().schema(of: Value.answerSchema), isRequired: true)
        return Value.blankAnswer
    }

    public mutating func perhaps<Value: AnswerValue>(
        _ name: String, _ read: (Body) -> Value?, _ shape: () -> Shape, isNull: Bool
    ) -> Value? {
        bodies += Value.answerBodies
        let schema = shape().schema(of: Value.answerSchema)
        add(name, isNull ? Shape.orNull(schema) : schema, isRequired: isNull)
        return nil
    }

    public mutating func constant(_ name: String, _ value: JSON, _ shape: Shape?) {
        add(name, shape.map { $0.schema(of: .object([])) } ?? ["const": value], isRequired: true)
    }

    public mutating func part<Part: AnswerBody>(_ read: (Body) -> Part) -> Part {
        var fields = FieldSchema<Part>()
        let part = Part(&fields)
        properties += fields.properties
        required += fields.required
        bodies += fields.bodies
        return part
    }

    private mutating func add(_ name: String, _ schema: JSON, isRequired: Bool) {
        properties.append(JSON.Member(name, schema))
        if isRequired { required.append(.string(name)) }
    }

    func schema(_ about: String?) -> JSON {
        .fields([
            "type": "object", "properties": .object(properties),
            "required": required.isEmpty ? nil : .array(required), "description": about.map(JSON.string),
        ])
    }
}
