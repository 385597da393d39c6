public import LiveActivity

/// Whether a registration won.
public struct RegisteredAnswer: AnswerBody {
    public let result: String

    public init(result: String) {
        self.result = result
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == RegisteredAnswer {
        try fields.ok()
        result = try fields("result", \.result, .words(["stored", "stale"]))
    }
}

/// A page of channels in the lines that an import reads.
public struct FollowersAnswer: AnswerBody {
    public let channels: [RawJSON]
    public let next: String?

    public init(channels: [RawJSON], next: String?) {
        (self.channels, self.next) = (channels, next)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == FollowersAnswer {
        try fields.ok()
        channels = try fields("channels", \.channels, .list(.named("RegistrationLine")))
        next = try fields.optional("next", \.next, "`after` of the next page.")
    }
}

/// One line of a page of followers.
public struct FollowerAnswer: AnswerBody {
    public static var schemaName: String? { nil }
    public let channel: String
    /// Nil: the platform is not iOS.
    public let platform: String?
    public let token, fid: String?
    public let registeredAt: Int
    public let startedAt: Int?
    public let frequentPushesEnabled: Bool?

    public init(
        channel: String, platform: String?, token: String?, fid: String? = nil, registeredAt: Int, startedAt: Int?,
        frequentPushesEnabled: Bool?
    ) {
        (self.channel, self.platform, self.token, self.fid) = (channel, platform, token, fid)
        (self.registeredAt, self.startedAt) = (registeredAt, startedAt)
        self.frequentPushesEnabled = frequentPushesEnabled
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == FollowerAnswer {
        channel = try fields("channel", \.channel, .channel)
        platform = try fields.optional("platform", \.platform, "Absent: ios.")
        token = try fields.optional("token", \.token, "Absent: the channel has no address now, or a `fid`.")
        fid = try fields.optional("fid", \.fid)
        registeredAt = try fields("registered_at_ms", \.registeredAt)
        startedAt = try fields.optional("started_at_ms", \.startedAt)
        frequentPushesEnabled = try fields.optional("frequent_pushes_enabled", \.frequentPushesEnabled)
    }
}

/// How many channels were removed.
public struct RemovedAnswer: AnswerBody {
    public let removed: Int
    public let complete: Bool

    public init(removed: Int, complete: Bool) {
        (self.removed, self.complete) = (removed, complete)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == RemovedAnswer {
        try fields.ok()
        removed = try fields("removed", \.removed)
        complete = try fields("complete", \.complete, "False: repeat the call.")
    }
}

/// A line that was not applied.
public struct RejectedLineAnswer: AnswerBody {
    public static var schemaName: String? { nil }
    public let line: Int
    public let error: String

    public init(line: Int, error: String) {
        (self.line, self.error) = (line, error)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == RejectedLineAnswer {
        line = try fields("line", \.line)
        error = try fields("error", \.error)
    }
}

/// The results of the lines of a bulk call.
public struct BulkResultAnswer: AnswerBody {
    public let accepted: Int
    public let stale: Int?
    public let rejected: [RejectedLineAnswer]
    public let rejectedCount: Int

    public init(accepted: Int, stale: Int?, rejected: [RejectedLineAnswer], rejectedCount: Int) {
        (self.accepted, self.stale, self.rejected, self.rejectedCount) = (accepted, stale, rejected, rejectedCount)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == BulkResultAnswer {
        try fields.ok()
        accepted = try fields("accepted", \.accepted)
        stale = try fields.optional(
            "stale", \.stale, "Lines that changed nothing, because what is stored is newer. Only of registrations.")
        rejected = try fields("rejected", \.rejected, .list(atMost: 1000))
        rejectedCount = try fields("rejected_count", \.rejectedCount)
    }
}
