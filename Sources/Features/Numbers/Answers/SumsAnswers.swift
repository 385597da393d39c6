public import LiveActivity

/// Some pushes, added up: of a day, of an hour or of a name.
public struct SumAnswer: AnswerBody {
    public static var schemaName: String? { nil }
    public let at, name: String?
    public var pushes: Int
    public var outcomes: Outcomes
    /// Nil: the pushes had no targets but on iOS.
    public var platforms: PlatformOutcomesAnswer?
    public var largestAudience: Int
    public var devices, followers, newFollowers, lostFollowers: Int?
    public var shown, ended, dismissed: Int
    /// Milliseconds.
    public var firstPhone, lastPhone, longest, waited, longestWait: Int?

    /// The columns of a CSV file.
    public static let columns =
        ["at", "name", "pushes", "targets"] + SettledField.allCases.map(\.rawValue) + [
            "pending", "largest_audience", "devices", "followers", "new_followers", "lost_followers", "shown", "ended",
            "dismissed", "first_phone_ms", "last_phone_ms", "longest_ms", "queued_ms", "longest_queued_ms",
        ]
        + Platform.all.flatMap { platform in
            (["targets"] + SettledField.allCases.map(\.rawValue)).map { "platforms.\(platform.name).\($0)" }
        }

    public init(at: String?, name: String?, pushes: Int, outcomes: Outcomes, largestAudience: Int, devices: Int?) {
        (self.at, self.name, self.pushes, self.outcomes) = (at, name, pushes, outcomes)
        (self.largestAudience, self.devices) = (largestAudience, devices)
        (shown, ended, dismissed) = (0, 0, 0)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == SumAnswer {
        at = try fields.optional("at", \.at, "When the day or the hour begins.")
        name = try fields.optional("name", \.name, .name)
        pushes = try fields("pushes", \.pushes)
        outcomes = try fields.part(\.outcomes)
        platforms = try fields.optional(
            "platforms", \.platforms, "The same counts for each platform. Absent: all targets were on iOS.")
        largestAudience = try fields("largest_audience", \.largestAudience, "The most targets of one push.")
        devices = try fields.optional(
            "devices", \.devices, "Devices that got at least one push: an estimate. Absent: it is not known.")
        followers = try fields.optional(
            "followers", \.followers, "The most followers of all names at a time: an estimate. Absent: it is not known."
        )
        newFollowers = try fields.optional(
            "new_followers", \.newFollowers,
            "Followings that began, of all names: registrations of channels that did not follow the name.")
        lostFollowers = try fields.optional(
            "lost_followers", \.lostFollowers,
            "Followings that ended, of all names: by a removal, a pruned token or an end. Not one that lapsed.")
        shown = try fields("shown", \.shown, "Devices that sent such a receipt, once for each push.")
        ended = try fields("ended", \.ended)
        dismissed = try fields("dismissed", \.dismissed)
        firstPhone = try fields.optional(
            "first_phone_ms", \.firstPhone,
            "Time from acceptance to the first page that reached a device, on average as `last_phone_ms`.")
        lastPhone = try fields.optional(
            "last_phone_ms", \.lastPhone,
            "Time from the acceptance of a push to its end, on average of the pushes that reached a device.")
        longest = try fields.optional("longest_ms", \.longest, "The longest of these times.")
        waited = try fields.optional(
            "queued_ms", \.waited,
            "Time from acceptance to begin, on average as `last_phone_ms`. Less than a second counts as 0.")
        longestWait = try fields.optional("longest_queued_ms", \.longestWait, "The longest of these times.")
    }
}

/// Sums of pushes, which outlive the pushes.
public struct SumsAnswer: AnswerBody {
    public let by, from, to, since: String
    public let devices: Int?
    public let sums: [SumAnswer]

    public init(by: String, from: String, to: String, since: String, devices: Int?, sums: [SumAnswer]) {
        (self.by, self.from, self.to, self.since) = (by, from, to, since)
        (self.devices, self.sums) = (devices, sums)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == SumsAnswer {
        try fields.ok()
        by = try fields("by", \.by, .words(["day", "hour", "name"]))
        from = try fields("from", \.from, "When the first day or hour of the answer begins.")
        to = try fields("to", \.to, "When its last one ends.")
        since = try fields(
            "since", \.since,
            "From then on, a day or hour that is not in `sums` had no push. Earlier ones were not counted, or are no longer kept."
        )
        devices = try fields.optional(
            "devices", \.devices, "Devices that got at least one push in all of this time, of 31 days at most.")
        sums = try fields("sums", \.sums)
    }
}
