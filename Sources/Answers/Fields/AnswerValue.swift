public import StrictJSON

/// A value that a member of an answer can have: it can be written, read and described.
public protocol AnswerValue: Sendable {
    init(answer value: JSONValue) throws(JSONError)
    var answerJSON: JSON { get }
    /// The JSON Schema of such values, for the OpenAPI document.
    static var answerSchema: JSON { get }
    /// Any value, for the description of a body that has no values.
    static var blankAnswer: Self { get }
    /// The bodies in such values.
    static var answerBodies: [any AnswerBody.Type] { get }
}

extension AnswerValue {
    public static var answerBodies: [any AnswerBody.Type] { [] }
}

/// One JSON object of an answer of the API. Its members are said once, in `init(_:)`: this writes it, reads it and
/// describes it.
public protocol AnswerBody: AnswerValue {
    /// Goes over the members in the order of the wire, one line for each.
    init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == Self
    /// A sentence about the whole object. Nil: its members say enough.
    static var about: String? { get }
    /// Its name in the OpenAPI document. Nil: it is described in place.
    static var schemaName: String? { get }
}

extension AnswerBody {
    public static var about: String? { nil }

    /// The name of the type without `Answer`.
    public static var schemaName: String? {
        let name = "\(Self.self)"
        return name.hasSuffix("Answer") ? String(name.dropLast(6)) : name
    }

    public init(answer value: JSONValue) throws(JSONError) {
        var fields = FieldReader<Self>(try value.object())
        try self.init(&fields)
    }

    /// Reads a whole answer. It may have a body of a request in it, which may be as deep as a document.
    public init(answer bytes: [UInt8]) throws(JSONError) {
        try self.init(answer: JSONDocument(bytes, maximumDepth: 2 * JSONDocument.defaultMaximumDepth).root)
    }

    public var answerJSON: JSON { .object(members) }

    /// The members in the order of the wire. Absent ones are left out.
    public var members: [JSON.Member] {
        var fields = FieldWriter(self)
        _ = Self(&fields)
        return fields.members
    }

    /// The members without `ok`, which an error repeats beside its own.
    public var membersOfError: [JSON.Member] { members.filter { $0.key != "ok" } }

    public static var answerSchema: JSON {
        schemaName.map { ["$ref": .string("#/components/schemas/\($0)")] } ?? definition
    }

    /// The JSON Schema of the object itself.
    public static var definition: JSON {
        var fields = FieldSchema<Self>()
        _ = Self(&fields)
        return fields.schema(about)
    }

    public static var answerBodies: [any AnswerBody.Type] { [Self.self] }

    /// The names of its members, in the order of the wire.
    public static var memberNames: [String] {
        var fields = FieldSchema<Self>()
        _ = Self(&fields)
        return fields.names
    }

    /// The bodies in its members.
    public static var parts: [any AnswerBody.Type] {
        var fields = FieldSchema<Self>()
        _ = Self(&fields)
        return fields.bodies
    }

    public static var blankAnswer: Self {
        var fields = FieldSchema<Self>()
        return Self(&fields)
    }
}
