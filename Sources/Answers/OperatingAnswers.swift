public import LiveActivity

/// A pause of the app or of a name.
public struct PauseAnswer: AnswerBody {
    public let app: String
    public let name: String?
    public let since: String

    public init(app: String, name: String?, since: String) {
        (self.app, self.name, self.since) = (app, name, since)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == PauseAnswer {
        app = try fields("app", \.app)
        name = try fields.optional("name", \.name, .name)
        since = try fields("since", \.since, .time)
    }
}

/// The pauses that the caller may know of.
public struct PausesAnswer: WarnedAnswer {
    public let paused: [PauseAnswer]
    public var warned: AnswerWarnings

    public init(paused: [PauseAnswer], warned: AnswerWarnings = AnswerWarnings()) {
        (self.paused, self.warned) = (paused, warned)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == PausesAnswer {
        try fields.ok()
        paused = try fields("paused", \.paused)
        warned = try fields.part(\.warned)
    }
}

/// The quarantined tokens of a name or of an attributes type.
public struct QuarantinedAnswer: AnswerBody {
    public static var schemaName: String? { nil }
    public let name, attributesType: String?
    public let tokens: Int
    public let since: String
    public let reasons: [String]

    public init(name: String?, attributesType: String?, tokens: Int, since: String, reasons: [String]) {
        (self.name, self.attributesType, self.tokens, self.since) = (name, attributesType, tokens, since)
        self.reasons = reasons
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == QuarantinedAnswer {
        name = try fields.optional("name", \.name, .name)
        attributesType = try fields.optional("attributes_type", \.attributesType)
        tokens = try fields("tokens", \.tokens)
        since = try fields("since", \.since, .time)
        reasons = try fields("reasons", \.reasons)
    }
}

/// The names that have quarantined tokens.
public struct QuarantineAnswer: AnswerBody {
    public let totalNames: Int
    public let names: [QuarantinedAnswer]

    public init(totalNames: Int, names: [QuarantinedAnswer]) {
        (self.totalNames, self.names) = (totalNames, names)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == QuarantineAnswer {
        try fields.ok()
        totalNames = try fields("total_names", \.totalNames)
        names = try fields("names", \.names)
    }
}

/// How many quarantined tokens get pushes again.
public struct ReleasedAnswer: AnswerBody {
    public static var schemaName: String? { nil }
    public let names, released: Int

    public init(names: Int, released: Int) {
        (self.names, self.released) = (names, released)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == ReleasedAnswer {
        try fields.ok()
        names = try fields("names", \.names)
        released = try fields("released", \.released)
    }
}

/// How many quarantined tokens were pruned.
public struct DiscardedAnswer: AnswerBody {
    public static var schemaName: String? { nil }
    public let names, pruned, newer, gone: Int

    public init(names: Int, pruned: Int, newer: Int, gone: Int) {
        (self.names, self.pruned, self.newer, self.gone) = (names, pruned, newer, gone)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == DiscardedAnswer {
        try fields.ok()
        names = try fields("names", \.names)
        pruned = try fields("pruned", \.pruned)
        newer = try fields("newer", \.newer)
        gone = try fields("gone", \.gone)
    }
}

/// The schema of an attributes type, in a list.
public struct ListedSchemaAnswer: AnswerBody {
    public static var schemaName: String? { nil }
    public let attributesType: String
    public let contentState, attributes: Bool
    public let names: RawJSON

    public init(attributesType: String, contentState: Bool, attributes: Bool, names: RawJSON) {
        (self.attributesType, self.contentState) = (attributesType, contentState)
        (self.attributes, self.names) = (attributes, names)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == ListedSchemaAnswer {
        attributesType = try fields("attributes_type", \.attributesType)
        contentState = try fields("content_state", \.contentState)
        attributes = try fields("attributes", \.attributes)
        names = try fields("names", \.names, .texts)
    }
}

/// The schemas of the app.
public struct SchemasAnswer: AnswerBody {
    public let schemas: [ListedSchemaAnswer]

    public init(schemas: [ListedSchemaAnswer]) {
        self.schemas = schemas
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == SchemasAnswer {
        try fields.ok()
        schemas = try fields("schemas", \.schemas)
    }
}
