public import LiveActivity

/// The time of a schedule.
public struct ScheduledTimeAnswer: AnswerBody {
    /// The most milliseconds that a scheduled time may lie ahead. A later time is a mistake.
    public static let horizon: Int64 = 366 * 86_400_000
    public static var schemaName: String? { nil }
    public let scheduledTime: String

    public init(scheduledTime: String) {
        self.scheduledTime = scheduledTime
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == ScheduledTimeAnswer {
        scheduledTime = try fields("scheduled_time", \.scheduledTime)
    }
}

/// A schedule that waits or has finished, in Airship's form.
public struct ScheduleAnswer: AnswerBody {
    public let url: String
    public let schedule: ScheduledTimeAnswer
    public let name: String?
    public let push: RawJSON
    public let pushIDs: [String]
    public let state: String
    public let reason, finishedAt: String?
    public let by: PublisherAnswer?
    /// Whether its push will never go out.
    public var isRefused: Bool { ["failed", "cancelled"].contains(state) }

    public init(
        url: String, schedule: ScheduledTimeAnswer, name: String?, push: RawJSON, pushIDs: [String], state: String,
        reason: String?, finishedAt: String?, by: PublisherAnswer?
    ) {
        (self.url, self.schedule, self.name, self.push) = (url, schedule, name, push)
        (self.pushIDs, self.state, self.reason, self.finishedAt) = (pushIDs, state, reason, finishedAt)
        self.by = by
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == ScheduleAnswer {
        url = try fields("url", \.url)
        schedule = try fields("schedule", \.schedule)
        name = try fields.optional("name", \.name)
        push = try fields("push", \.push)
        pushIDs = try fields("push_ids", \.pushIDs, .list(.pushID))
        state = try fields("state", \.state, .words(["scheduled", "sent", "failed", "cancelled"]))
        reason = try fields.optional("reason", \.reason, "Why it failed.")
        finishedAt = try fields.optional(
            "finished_at", \.finishedAt, .time("UTC, ISO 8601 with milliseconds. Absent while it waits."))
        by = try fields.optional("by", \.by)
    }
}

/// The schedules that a call made.
public struct SchedulesAnswer: WarnedAnswer {
    public let operationID: String
    public let scheduleURLs, scheduleIDs: [String]
    public let schedules: [ScheduleAnswer]
    public let held, heldID: String?
    public var warned: AnswerWarnings

    public init(
        operationID: String, scheduleURLs: [String], scheduleIDs: [String], schedules: [ScheduleAnswer],
        held: String? = nil, heldID: String? = nil, warned: AnswerWarnings = AnswerWarnings()
    ) {
        (self.operationID, self.scheduleURLs) = (operationID, scheduleURLs)
        (self.scheduleIDs, self.schedules) = (scheduleIDs, schedules)
        (self.held, self.heldID, self.warned) = (held, heldID, warned)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == SchedulesAnswer {
        try fields.ok()
        operationID = try fields("operation_id", \.operationID, .operation)
        scheduleURLs = try fields("schedule_urls", \.scheduleURLs)
        scheduleIDs = try fields("schedule_ids", \.scheduleIDs, .list(.pushID))
        schedules = try fields("schedules", \.schedules)
        held = try fields.optional("held", \.held, Held.about)
        heldID = try fields.optional("held_id", \.heldID, Held.aboutID)
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
