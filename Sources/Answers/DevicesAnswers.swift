/// The answer to the batch of Airship's SDK. Its numbers are there if a part was not applied.
public struct BatchResultAnswer: WarnedAnswer {
    public let applied: Int?
    public let problems: [String]?
    public let problemCount: Int?
    public var warned: AnswerWarnings

    public init(applied: Int?, problems: [String]?, problemCount: Int?, warned: AnswerWarnings = AnswerWarnings()) {
        (self.applied, self.problems, self.problemCount, self.warned) = (applied, problems, problemCount, warned)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == BatchResultAnswer {
        try fields.ok()
        applied = try fields.optional("applied", \.applied)
        problems = try fields.optional("problems", \.problems, .list(atMost: 100))
        problemCount = try fields.optional("problem_count", \.problemCount)
        warned = try fields.part(\.warned)
    }
}

/// The results of receipts.
public struct ReceiptTallyAnswer: AnswerBody {
    public let accepted, late, unknown: Int

    public init(accepted: Int, late: Int, unknown: Int) {
        (self.accepted, self.late, self.unknown) = (accepted, late, unknown)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == ReceiptTallyAnswer {
        try fields.ok()
        accepted = try fields("accepted", \.accepted, "Counted, now or before.")
        late = try fields("late", \.late, "Their push was accepted more than 24 hours ago.")
        unknown = try fields("unknown", \.unknown, "The app has no such push.")
    }
}

/// A token for the SDK of one device.
public struct DeviceTokenAnswer: AnswerBody {
    public static var schemaName: String? { nil }
    public let token: String
    public let expiresIn: Int

    public init(token: String, expiresIn: Int) {
        (self.token, self.expiresIn) = (token, expiresIn)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == DeviceTokenAnswer {
        try fields.ok()
        token = try fields("token", \.token)
        expiresIn = try fields("expires_in", \.expiresIn, "Milliseconds.")
    }
}
