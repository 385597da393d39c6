public import LiveActivity
public import StrictJSON

extension String: AnswerValue {
    public init(answer value: JSONValue) throws(JSONError) { self = try value.string() }
    public var answerJSON: JSON { .string(self) }
    public static var answerSchema: JSON { ["type": "string"] }
    public static var blankAnswer: String { "" }
}

extension Int: AnswerValue {
    /// The largest number that is read, so that a sum of numbers cannot overflow.
    private static let most: Int64 = 1 << 53

    public init(answer value: JSONValue) throws(JSONError) {
        self = Int(Swift.min(Swift.max(try value.integer(), -Self.most), Self.most))
    }
    public var answerJSON: JSON { .integer(self) }
    public static var answerSchema: JSON { ["type": "integer"] }
    public static var blankAnswer: Int { 0 }
}

extension Bool: AnswerValue {
    public init(answer value: JSONValue) throws(JSONError) { self = try value.bool() }
    public var answerJSON: JSON { .bool(self) }
    public static var answerSchema: JSON { ["type": "boolean"] }
    public static var blankAnswer: Bool { false }
}

extension RawJSON: AnswerValue {
    public init(answer value: JSONValue) { self.init(checked: Array(value.raw)) }
    public var answerJSON: JSON { .raw(bytes) }
    public static var answerSchema: JSON { ["type": "object"] }
    public static var blankAnswer: RawJSON { RawJSON(checked: "{}") }
    public var text: String { String(decoding: bytes, as: UTF8.self) }
}

extension Array: AnswerValue where Element: AnswerValue {
    public init(answer value: JSONValue) throws(JSONError) {
        self = try value.array().map { (entry) throws(JSONError) in try Element(answer: entry) }
    }
    public var answerJSON: JSON { .array(map(\.answerJSON)) }
    public static var answerSchema: JSON { ["type": "array", "items": Element.answerSchema] }
    public static var blankAnswer: [Element] { [] }
    public static var answerBodies: [any AnswerBody.Type] { Element.answerBodies }
}

/// A name of a member that is not the same in every answer.
public protocol MemberName: Hashable, Comparable, Sendable, CustomStringConvertible {
    init(_ text: String)
}

extension String: MemberName {}
extension ExactText: MemberName {}

/// Members by their names, in the order of the names.
extension Dictionary: AnswerValue where Key: MemberName, Value: AnswerValue {
    public init(answer value: JSONValue) throws(JSONError) {
        self = [:]
        for (name, value) in try value.object().members { self[Key(name)] = try Value(answer: value) }
    }
    public var answerJSON: JSON {
        .object(sorted { $0.key < $1.key }.map { JSON.Member($0.key.description, $0.value.answerJSON) })
    }
    public static var answerSchema: JSON { ["type": "object", "additionalProperties": Value.answerSchema] }
    public static var blankAnswer: [Key: Value] { [:] }
    public static var answerBodies: [any AnswerBody.Type] { Value.answerBodies }
}
