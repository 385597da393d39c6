internal import StrictJSON

/// One schema object. It refers to others by their index.
struct SchemaNode: Sendable {
    /// The types of JSON Schema. `integer` is a number without a fraction.
    enum TypeName: String, Sendable, CaseIterable { case object, array, string, number, integer, boolean, null }

    enum Additional: Sendable {
        case allowed, refused
        case schema(Int)
    }

    /// False for the schema `false`, which no value matches.
    var matchesSomething = true
    /// The types that a value may have. Nil: any type.
    var types: [TypeName]?
    var properties: [(key: String, schema: Int)] = []
    var required: [String] = []
    var additional = Additional.allowed
    var items: Int?
    var itemCount: ClosedRange<Int>?
    /// The length of a string in Unicode code points.
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

    var allowsAnyMember: Bool { if case .allowed = additional { true } else { false } }
    /// The schemas that check the same value as this one.
    var inPlace: [Int] { anyOf + oneOf + allOf + (reference.map { [$0] } ?? []) }
}
