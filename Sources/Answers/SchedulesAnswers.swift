public import LiveActivity

/// The time of a schedule.
public struct ScheduledTimeAnswer: AnswerBody {
    public static var schemaName: String? { nil }
    public let scheduledTime: String

    public init(scheduledTime: String) {
        self.scheduledTime = scheduledTime
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == ScheduledTimeAnswer {
        scheduledTime = try fields("scheduled_time", \.scheduledTime)
    }
}

/// The request that a second person approves a publish, and what became of it.
public struct ApprovalAnswer: AnswerBody {
    public let request: String
    public let atOnce: Bool?
    public let askedBy: PublisherAnswer?
    public let askedAt: String
    public let lapsesAt: String?
    public let decidedBy: PublisherAnswer?
    public let decidedAt: String?

    public init(
        request: String, atOnce: Bool?, askedBy: PublisherAnswer?, askedAt: String, lapsesAt: String?,
        decidedBy: PublisherAnswer?, decidedAt: String?
    ) {
        (self.request, self.atOnce, self.askedBy, self.askedAt) = (request, atOnce, askedBy, askedAt)
        (self.lapsesAt, self.decidedBy, self.decidedAt) = (lapsesAt, decidedBy, decidedAt)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == ApprovalAnswer {
        request = try fields("request", \.request, "Another one after each change. An approval names it.")
        atOnce = try fields.optional(
            "at_once", \.atOnce, "True, or absent. True: it goes out as soon as it is approved.")
        askedBy = try fields.optional("asked_by", \.askedBy)
        askedAt = try fields("asked_at", \.askedAt, .time)
        lapsesAt = try fields.optional("lapses_at", \.lapsesAt, .time("While it waits: when it will be too late."))
        decidedBy = try fields.optional("decided_by", \.decidedBy)
        decidedAt = try fields.optional("decided_at", \.decidedAt, .time)
    }
}

/// A publish that waits for its time or for approval, or is over, in Airship's form.
public struct ScheduleAnswer: AnswerBody {
    public let url: String
    public let schedule: ScheduledTimeAnswer
    public let name: String?
    public let push: RawJSON
    public let pushIDs: [String]
    public let state: String
    public let reason, finishedAt: String?
    public let approval: ApprovalAnswer?

    public init(
        url: String, schedule: ScheduledTimeAnswer, name: String?, push: RawJSON, pushIDs: [String], state: String,
        reason: String?, finishedAt: String?, approval: ApprovalAnswer? = nil
    ) {
        (self.url, self.schedule, self.name, self.push) = (url, schedule, name, push)
        (self.pushIDs, self.state, self.reason, self.finishedAt) = (pushIDs, state, reason, finishedAt)
        self.approval = approval
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == ScheduleAnswer {
        url = try fields("url", \.url)
        schedule = try fields("schedule", \.schedule)
        name = try fields.optional("name", \.name)
        push = try fields("push", \.push)
        pushIDs = try fields("push_ids", \.pushIDs, .list(.pushID))
        state = try fields(
            "state", \.state, .words(["scheduled", "awaiting_approval", "sent", "failed", "cancelled", "rejected"]))
        reason = try fields.optional(
            "reason", \.reason, "Why it failed, or why it was rejected, as the person wrote it.")
        finishedAt = try fields.optional(
            "finished_at", \.finishedAt, .time("UTC, ISO 8601 with milliseconds. Absent while it waits."))
        approval = try fields.optional("approval", \.approval)
    }
}

/// The schedules that a call made.
public struct SchedulesAnswer: WarnedAnswer {
    public let operationID: String
    public let scheduleURLs, scheduleIDs: [String]
    public let schedules: [ScheduleAnswer]
    public var warned: Warned

    public init(
        operationID: String, scheduleURLs: [String], scheduleIDs: [String], schedules: [ScheduleAnswer],
        warned: Warned = Warned()
    ) {
        (self.operationID, self.scheduleURLs) = (operationID, scheduleURLs)
        (self.scheduleIDs, self.schedules) = (scheduleIDs, schedules)
        self.warned = warned
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == SchedulesAnswer {
        try fields.ok()
        operationID = try fields("operation_id", \.operationID, .operation)
        scheduleURLs = try fields("schedule_urls", \.scheduleURLs)
        scheduleIDs = try fields("schedule_ids", \.scheduleIDs, .list(.pushID))
        schedules = try fields("schedules", \.schedules)
        warned = try fields.part(\.warned)
    }
}

/// A page of schedules.
public struct ScheduleListAnswer: AnswerBody {
    public let count, totalCount: Int
    public let nextPage: String?
    public let schedules: [ScheduleAnswer]

    public init(count: Int, totalCount: Int, nextPage: String?, schedules: [ScheduleAnswer]) {
        (self.count, self.totalCount, self.nextPage, self.schedules) = (count, totalCount, nextPage, schedules)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == ScheduleListAnswer {
        try fields.ok()
        count = try fields("count", \.count)
        totalCount = try fields("total_count", \.totalCount)
        nextPage = try fields.optional("next_page", \.nextPage)
        schedules = try fields("schedules", \.schedules)
    }
}
