public import StrictJSON

/// The members of a body, in the order of the wire. `FieldWriter` writes them, `FieldReader` reads them, and
/// `FieldSchema` describes them.
public protocol Fields<Body> {
    associatedtype Body
    associatedtype Failure: Error

    /// - Parameter shape: is made for a description alone
    mutating func always<Value: AnswerValue>(
        _ name: String, _ read: (Body) -> Value, _ shape: () -> Shape, or missing: Value?
    ) throws(Failure) -> Value

    mutating func perhaps<Value: AnswerValue>(
        _ name: String, _ read: (Body) -> Value?, _ shape: () -> Shape, isNull: Bool
    ) throws(Failure) -> Value?

    /// A member that has the same value in every answer, so no property keeps it.
    mutating func constant(_ name: String, _ value: JSON, _ shape: Shape?) throws(Failure)

    /// Members that several bodies share.
    mutating func part<Part: AnswerBody>(_ read: (Body) -> Part) throws(Failure) -> Part
}

extension Fields {
    /// A member that is always there.
    /// - Parameter missing: the value for an answer of an older gateway, which lacks the member
    public mutating func callAsFunction<Value: AnswerValue>(
        _ name: String, _ read: (Body) -> Value, _ shape: @autoclosure () -> Shape = .plain,
        or missing: Value? = nil
    ) throws(Failure) -> Value {
        try always(name, read, shape, or: missing)
    }

    /// A member that is absent if it is nil.
    public mutating func optional<Value: AnswerValue>(
        _ name: String, _ read: (Body) -> Value?, _ shape: @autoclosure () -> Shape = .plain
    ) throws(Failure) -> Value? {
        try perhaps(name, read, shape, isNull: false)
    }

    /// A member that is null if it is nil.
    public mutating func nullable<Value: AnswerValue>(
        _ name: String, _ read: (Body) -> Value?, _ shape: @autoclosure () -> Shape = .plain
    ) throws(Failure) -> Value? {
        try perhaps(name, read, shape, isNull: true)
    }

    public mutating func ok() throws(Failure) { try constant("ok", true, nil) }
}
