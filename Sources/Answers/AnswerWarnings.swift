/// The members of an answer that can have warnings.
public struct AnswerWarnings: AnswerBody {
    public static var schemaName: String? { nil }
    public var warnings: [String]?
    /// How many there are, if not all of them are shown.
    public var count: Int?

    public init(_ warnings: [String]? = nil, count: Int? = nil) { (self.warnings, self.count) = (warnings, count) }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == AnswerWarnings {
        warnings = try fields.optional("warnings", \.warnings, .named("Warnings"))
        count = try fields.optional("warning_count", \.count)
    }
}

/// An answer to which the gateway may add warnings.
public protocol WarnedAnswer: AnswerBody {
    var warned: AnswerWarnings { get set }
}
