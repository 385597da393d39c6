/// The answer of `/healthz`.
public struct HealthAnswer: AnswerBody {
    public static var schemaName: String? { nil }
    public let version: String

    public init(version: String) {
        self.version = version
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == HealthAnswer {
        try fields.ok()
        version = try fields("version", \.version)
    }
}

/// An alarm that is raised now.
public struct AlarmAnswer: AnswerBody {
    public static var schemaName: String? { nil }
    public let app, kind: String
    public let platform: String?
    public let reason, since: String

    public init(app: String, kind: String, platform: String?, reason: String, since: String) {
        (self.app, self.kind, self.platform, self.reason, self.since) = (app, kind, platform, reason, since)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == AlarmAnswer {
        app = try fields("app", \.app)
        kind = try fields("kind", \.kind)
        platform = try fields.optional("platform", \.platform, "Absent: ios, or the alarm concerns no platform.")
        reason = try fields("reason", \.reason)
        since = try fields("since", \.since, .time)
    }
}

/// The answer of `/readyz`.
public struct ReadinessAnswer: AnswerBody {
    public static var schemaName: String? { nil }
    public let alarms: [AlarmAnswer]
    public let paused: [PauseAnswer]?

    public init(alarms: [AlarmAnswer], paused: [PauseAnswer]?) {
        (self.alarms, self.paused) = (alarms, paused)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == ReadinessAnswer {
        try fields.ok()
        alarms = try fields("alarms", \.alarms)
        paused = try fields.optional("paused", \.paused)
    }
}
