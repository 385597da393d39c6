import StrictJSON

/// A place in the body of a request. Both count from 1.
public struct ErrorPlaceAnswer: AnswerBody {
    public static var schemaName: String? { nil }
    public let line, column: Int

    public init(line: Int, column: Int) { (self.line, self.column) = (line, column) }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == ErrorPlaceAnswer {
        line = try fields("line", \.line)
        column = try fields("column", \.column)
    }
}

/// The part of a request that is wrong.
public struct ErrorDetailsAnswer: AnswerBody {
    public static var schemaName: String? { nil }
    public let error: String
    public let path: String?
    public let location: ErrorPlaceAnswer?

    public init(error: String, path: String?, location: ErrorPlaceAnswer?) {
        (self.error, self.path, self.location) = (error, path, location)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == ErrorDetailsAnswer {
        error = try fields("error", \.error)
        path = try fields.optional("path", \.path)
        location = try fields.optional("location", \.location)
    }
}

/// A refusal, in Airship's form. It is read from whatever answered, so only its sentence must be there.
public struct ErrorAnswer: AnswerBody {
    public static var about: String? {
        "Some calls add members, such as `push_ids` of an array's accepted pushes."
    }
    /// The code of a condition that does not hold: the name had a push that the sender did not see.
    public static let newerPush = 40_904

    public let operationID, error: String
    public let code: Int
    public let details: ErrorDetailsAnswer?
    /// The push because of which a condition does not hold (`newerPush`). Nil: the name has no push.
    public let newestPush: NewestPushAnswer?

    public init(
        operationID: String, error: String, code: Int, details: ErrorDetailsAnswer?,
        newestPush: NewestPushAnswer? = nil
    ) {
        (self.operationID, self.error, self.code, self.details) = (operationID, error, code, details)
        self.newestPush = newestPush
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == ErrorAnswer {
        try fields.constant("ok", false, nil)
        operationID = try fields("operation_id", \.operationID, .operation, or: "")
        error = try fields("error", \.error, "What is wrong and what to do.")
        code = try fields("error_code", \.code, "The status and two digits.", or: 0)
        details = try fields.optional("details", \.details)
        newestPush = try fields.optional(
            "newest_push", \.newestPush, "Of a publish whose `options.after` does not hold.")
    }
}

/// The member of an error that says how much of a bulk call was done.
public struct CutShortAnswer: AnswerBody {
    public static var schemaName: String? { nil }
    public let linesApplied: Int

    public init(linesApplied: Int) { self.linesApplied = linesApplied }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == CutShortAnswer {
        linesApplied = try fields("lines_applied", \.linesApplied)
    }
}
