public import StrictJSON

/// Writes a body's members.
public struct FieldWriter<Body>: Fields {
    private let body: Body
    public private(set) var members: [JSON.Member] = []

    init(_ body: Body) { self.body = body }

    public mutating func always<Value: AnswerValue>(
        _ name: String, _ read: (Body) -> Value, _ shape: () -> Shape, or missing: Value?
    ) -> Value {
        let value = read(body)
        members.append(JSON.Member(name, value.answerJSON))
        return value
    }

    public mutating func perhaps<Value: AnswerValue>(
        _ name: String, _ read: (Body) -> Value?, _ shape: () -> Shape, isNull: Bool
    ) -> Value? {
        let value = read(body)
        if let json = value?.answerJSON ?? (isNull ? .null : nil) { members.append(JSON.Member(name, json)) }
        return value
    }

    public mutating func constant(_ name: String, _ value: JSON, _ shape: Shape?) {
        members.append(JSON.Member(name, value))
    }

    public mutating func part<Part: AnswerBody>(_ read: (Body) -> Part) -> Part {
        let part = read(body)
        members += part.members
        return part
    }
}
