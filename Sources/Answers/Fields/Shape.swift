import LiveActivity
public import StrictJSON

/// The rules of a member's schema beside its type. A text alone is a description.
public struct Shape: Sendable, ExpressibleByStringLiteral {
    /// The schema takes the place of the type's schema.
    private var replacesType = false
    private var rules: [JSON.Member] = []
    /// The schema of the entries of an array.
    private indirect enum Entries { case plain, shaped(Shape) }
    private var entries = Entries.plain

    private init(_ rules: KeyValuePairs<String, JSON?>, replacesType: Bool = false) {
        self.rules = rules.compactMap { name, value in value.map { JSON.Member(name, $0) } }
        self.replacesType = replacesType
    }

    public init(stringLiteral text: String) { self.init(["description": .string(text)]) }

    public static let plain = Shape([:])

    /// A schema of the document that has a name.
    public static func named(_ name: String) -> Shape {
        Shape(["$ref": .string("#/components/schemas/\(name)")], replacesType: true)
    }

    /// One of these words.
    public static func words(_ words: [String]) -> Shape { Shape(["enum": .array(words.map(JSON.string))]) }

    /// One of these values.
    public static func only(_ values: [JSON], _ text: String? = nil) -> Shape {
        Shape(["enum": .array(values), "description": text.map(JSON.string)], replacesType: true)
    }

    /// A list whose entries have this shape.
    public static func list(_ entry: Shape = .plain, atMost most: Int? = nil, _ text: String? = nil) -> Shape {
        var shape = Shape(["maxItems": most.map(JSON.integer), "description": text.map(JSON.string)])
        shape.entries = .shaped(entry)
        return shape
    }

    public static let pushID = named("PushID")
    public static let name = named("Name")
    public static let channel = named("Channel")
    public static let operation = Shape(["format": "uuid"])
    public static let pushState = named("PushState")
    public static let eventKind = named("EventKind")
    /// A list of texts, of a member that is passed on as it was written.
    public static let texts = Shape(["type": "array", "items": ["type": "string"]], replacesType: true)
    public static let deviceTypes = list(.plain, "The platforms that it is for. Absent: all of the app.")
    public static let event = words(ActivityEvent.allCases.map(\.rawValue))
    /// One object or a list of them, as somebody wrote it.
    public static func objectOrList(_ text: String) -> Shape {
        let list: JSON = ["type": "array", "items": ["type": "object"]]
        return Shape(["anyOf": [["type": "object"], list], "description": .string(text)], replacesType: true)
    }
    public static let bool = Shape(["type": "boolean"])

    /// A time, as `TimeText.text` writes it.
    public static let time = time("UTC, ISO 8601 with milliseconds.")

    public static func time(_ text: String) -> Shape {
        Shape(["description": .string(text), "examples": ["2026-11-21T18:00:00.000Z"]])
    }

    /// A time, as `TimeText.plainText` writes it.
    public static let plainTime = Shape([
        "description": "UTC, in whole seconds, without a zone.", "examples": ["2026-11-21T18:00:00"],
    ])

    /// The schema of a member of this shape.
    /// - Parameter type: the schema of its type
    func schema(of type: JSON) -> JSON {
        guard !replacesType, case .object(var members) = type else { return .object(rules) }
        if case .shaped(let entry) = entries, let place = members.firstIndex(where: { $0.key == "items" }) {
            members[place].value = entry.schema(of: members[place].value)
        }
        return .object(members + rules)
    }

    /// A schema that also allows null.
    static func orNull(_ schema: JSON) -> JSON {
        guard case .object(var members) = schema, let place = members.firstIndex(where: { $0.key == "type" }),
            case .string(let type) = members[place].value, type != "object"
        else { return ["anyOf": [schema, ["type": "null"]]] }
        members[place].value = [.string(type), "null"]
        return .object(members)
    }
}
