/// An attributes type that has a sketch of its card.
public struct ListedSketchAnswer: AnswerBody {
    public static var schemaName: String? { nil }
    public let attributesType: String

    public init(attributesType: String) {
        self.attributesType = attributesType
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == ListedSketchAnswer {
        attributesType = try fields("attributes_type", \.attributesType)
    }
}

/// The sketches of the app.
public struct SketchesAnswer: AnswerBody {
    public let sketches: [ListedSketchAnswer]

    public init(sketches: [ListedSketchAnswer]) {
        self.sketches = sketches
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == SketchesAnswer {
        try fields.ok()
        sketches = try fields("sketches", \.sketches)
    }
}
