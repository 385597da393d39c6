public import StrictJSON

/// Reads a body's members from an object. Members that this version does not know are passed over.
public struct FieldReader<Body>: Fields {
    private let object: JSONObject

    init(_ object: JSONObject) { self.object = object }

    public mutating func always<Value: AnswerValue>(
        _ name: String, _ read: (Body) -> Value, _ shape: () -> Shape, or missing: Value?
    ) throws(JSONError) -> Value {
        if let missing, object[name] == nil { return missing }
        return try Value(answer: object.required(name))
    }

    /// Null is as good as absent.
    public mutating func perhaps<Value: AnswerValue>(
        _ name: String, _ read: (Body) -> Value?, _ shape: () -> Shape, isNull: Bool
    ) throws(JSONError) -> Value? {
        guard let value = object[name], value.kind != .null else { return nil }
        return try Value(answer: value)
    }

    public mutating func constant(_ name: String, _ value: JSON, _ shape: Shape?) throws(JSONError) {}

    public mutating func part<Part: AnswerBody>(_ read: (Body) -> Part) throws(JSONError) -> Part {
        var fields = FieldReader<Part>(object)
        return try Part(&fields)
    }
}
