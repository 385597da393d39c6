public import LiveActivity

/// A publish that a second person has to approve, and what became of it.
public struct ProposalAnswer: WarnedAnswer {
    /// The most characters of a reason to reject, of four bytes each at most.
    public static let mostReason = 250

    public let id, kind, state: String
    public let pushIDs: [String]
    public let names: [String]
    public let body: RawJSON
    public let request: String
    public let askedBy: PublisherAnswer
    public let askedAt: String
    public let lapsesAt: String?
    public let decidedBy: PublisherAnswer?
    public let decidedAt, reason, endedAt: String?
    /// The warnings of an edit.
    public var warned: AnswerWarnings

    public init(
        id: String, kind: String, state: String, pushIDs: [String], names: [String], body: RawJSON, request: String,
        askedBy: PublisherAnswer, askedAt: String, lapsesAt: String?, decidedBy: PublisherAnswer?, decidedAt: String?,
        reason: String?, endedAt: String?, warned: AnswerWarnings = AnswerWarnings()
    ) {
        (self.id, self.kind, self.state, self.pushIDs, self.names) = (id, kind, state, pushIDs, names)
        (self.body, self.request, self.askedBy, self.askedAt) = (body, request, askedBy, askedAt)
        (self.lapsesAt, self.decidedBy, self.decidedAt) = (lapsesAt, decidedBy, decidedAt)
        (self.reason, self.endedAt, self.warned) = (reason, endedAt, warned)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == ProposalAnswer {
        id = try fields("id", \.id, .pushID)
        kind = try fields("kind", \.kind, .words(["publish", "schedule", "replacement"]))
        state = try fields(
            "state", \.state,
            .words(["waiting", "approved", "published", "rejected", "withdrawn", "lapsed", "failed"]))
        pushIDs = try fields("push_ids", \.pushIDs, .list(.pushID))
        names = try fields("names", \.names, "The names of its pushes, each once.")
        body = try fields("body", \.body, .objectOrList("The body as it was posted."))
        request = try fields("request", \.request, "Another one after each edit. An approval names it.")
        askedBy = try fields("asked_by", \.askedBy)
        askedAt = try fields("asked_at", \.askedAt, .time)
        lapsesAt = try fields.optional("lapses_at", \.lapsesAt, .time("While it waits: when it will be too late."))
        decidedBy = try fields.optional("decided_by", \.decidedBy)
        decidedAt = try fields.optional("decided_at", \.decidedAt, .time)
        reason = try fields.optional(
            "reason", \.reason, "Why it was rejected, as the person wrote it, or why it failed.")
        endedAt = try fields.optional("ended_at", \.endedAt, .time)
        warned = try fields.part(\.warned)
    }
}

/// A page of proposals.
public struct ProposalListAnswer: AnswerBody {
    public let total: Int
    public let next: String?
    public let proposals: [ProposalAnswer]

    public init(total: Int, next: String?, proposals: [ProposalAnswer]) {
        (self.total, self.next, self.proposals) = (total, next, proposals)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == ProposalListAnswer {
        try fields.ok()
        total = try fields("total", \.total)
        next = try fields.optional("next", \.next)
        proposals = try fields("proposals", \.proposals)
    }
}
