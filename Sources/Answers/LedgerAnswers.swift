public import LiveActivity
import StrictJSON

/// The caller who published a push.
public struct PublisherAnswer: AnswerBody {
    public static var about: String? { "Who published it." }
    public let credential, address: String
    public let who, whoID: String?
    public let second: SecondPersonAnswer?
    static var aboutWhoID: Shape {
        "The person's `sub` at the provider. It stays when the name changes, and others may have the same name."
    }

    public init(
        credential: String, address: String, who: String?, whoID: String?, second: SecondPersonAnswer? = nil
    ) {
        (self.credential, self.address, self.who, self.whoID) = (credential, address, who, whoID)
        self.second = second
    }

    public init(_ publisher: Publisher) {
        self.init(
            credential: publisher.credential, address: publisher.address, who: publisher.who, whoID: publisher.whoID,
            second: publisher.second.map(SecondPersonAnswer.init))
    }

    /// The caller, for people, with the second person.
    public var caller: String {
        Publisher.shown(credential, who)
            + (second.map { ", second person \(Publisher.shown($0.credential, $0.who))" } ?? "")
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == PublisherAnswer {
        credential = try fields(
            "credential", \.credential, "`master`, the id of a credential, or the word of another caller.")
        address = try fields("address", \.address, "The client's address, as far as trusted proxies tell it.")
        who = try fields.optional(
            "who", \.who, "The person, if the console knows: one who signed in through a provider.")
        whoID = try fields.optional("who_id", \.whoID, Self.aboutWhoID)
        second = try fields.optional("second", \.second)
    }
}

/// The second person, without whom a push does not go out.
public struct SecondPersonAnswer: AnswerBody {
    public static var about: String? { "The second person, who let it go out." }
    public let credential: String
    public let who, whoID: String?

    public init(_ person: Publisher.Second) {
        (credential, who, whoID) = (person.credential, person.who, person.whoID)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == SecondPersonAnswer {
        credential = try fields("credential", \.credential, "`master`, or the id of a credential.")
        who = try fields.optional("who", \.who, "The person, as of a publisher.")
        whoID = try fields.optional("who_id", \.whoID, PublisherAnswer.aboutWhoID)
    }
}

/// The request of a push to the broadcast channel of its name.
public struct BroadcastResultAnswer: AnswerBody {
    public let channel: String?
    public let state: String
    public let status: Int?
    public let attempts: Int
    public let reason: String?

    public init(channel: String?, state: String, status: Int?, attempts: Int, reason: String?) {
        (self.channel, self.state, self.status, self.attempts) = (channel, state, status, attempts)
        self.reason = reason
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == BroadcastResultAnswer {
        channel = try fields.nullable("channel", \.channel)
        state = try fields(
            "state", \.state, .words(["waiting", "delivered", "failed", "superseded", "expired", "cancelled"]))
        status = try fields.nullable("status", \.status)
        attempts = try fields("attempts", \.attempts)
        reason = try fields.optional("reason", \.reason)
    }
}

extension Outcomes: AnswerBody {
    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == Outcomes {
        self.init(targets: try fields("targets", \.targets))
        for field in SettledField.allCases { self[field] = try fields(field.rawValue, \.[field]) }
        _ = try fields("pending", \.pending)
    }
}

/// A push's outcomes on each platform that it was for.
public struct PlatformOutcomesAnswer: AnswerBody {
    public private(set) var byPlatform: [Platform: Outcomes] = [:]

    public init(_ byPlatform: [Platform: Outcomes]) { self.byPlatform = byPlatform }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == PlatformOutcomesAnswer {
        for platform in Platform.all {
            byPlatform[platform] = try fields.optional(platform.name) { $0.byPlatform[platform] }
        }
    }
}

/// The ledger of a push, in answers and in outgoing events.
@dynamicMemberLookup public struct LedgerAnswer: AnswerBody {
    public static var about: String? {
        "At every moment targets = delivered + pruned + failed + superseded + expired + skipped + pending."
    }
    public let pushID, name, event: String
    public let priority: Int
    public let state: String
    public let expanded: Bool
    public let outcomes: Outcomes
    /// Nil: the push was for iOS alone.
    public let platforms: PlatformOutcomesAnswer?
    public let retries, duplicatesPossible, demoted, late: Int
    public let stale: Int?
    public let automatic, test: Bool?
    public let broadcast: BroadcastResultAnswer?
    public let supersededBy: String?
    public let createdAt: String
    public let finishedAt: String?
    public let errors: [String: Int]
    public let shown, ended, dismissed: Int?
    /// Outgoing events do not tell it.
    public var by: PublisherAnswer?

    public subscript(dynamicMember path: KeyPath<Outcomes, Int>) -> Int { outcomes[keyPath: path] }

    public init(
        pushID: String, name: String, event: String, priority: Int, state: String, expanded: Bool,
        outcomes: Outcomes, platforms: PlatformOutcomesAnswer? = nil, retries: Int, duplicatesPossible: Int,
        demoted: Int, late: Int, stale: Int?,
        automatic: Bool?, test: Bool? = nil,
        broadcast: BroadcastResultAnswer?, supersededBy: String?, createdAt: String, finishedAt: String?,
        errors: [String: Int], shown: Int?, ended: Int?, dismissed: Int?, by: PublisherAnswer?
    ) {
        (self.pushID, self.name, self.event, self.priority) = (pushID, name, event, priority)
        (self.state, self.expanded, self.outcomes, self.platforms) = (state, expanded, outcomes, platforms)
        (self.retries, self.duplicatesPossible) = (retries, duplicatesPossible)
        (self.demoted, self.late, self.stale, self.automatic) = (demoted, late, stale, automatic)
        self.test = test
        (self.broadcast, self.supersededBy) = (broadcast, supersededBy)
        (self.createdAt, self.finishedAt) = (createdAt, finishedAt)
        (self.errors, self.shown, self.ended, self.dismissed) = (errors, shown, ended, dismissed)
        self.by = by
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == LedgerAnswer {
        pushID = try fields("push_id", \.pushID, .pushID)
        name = try fields("name", \.name, .name)
        event = try fields("event", \.event, .event)
        priority = try fields("priority", \.priority, .only([5, 10]))
        state = try fields("state", \.state, .pushState)
        expanded = try fields("expanded", \.expanded, "`targets` is final.")
        outcomes = try fields.part(\.outcomes)
        platforms = try fields.optional(
            "platforms", \.platforms, "The same counts for each platform. Absent: the push was for iOS alone.")
        retries = try fields("retries", \.retries)
        duplicatesPossible = try fields("duplicates_possible", \.duplicatesPossible)
        demoted = try fields("demoted", \.demoted, or: 0)
        late = try fields("late", \.late, or: 0)
        stale = try fields.optional("stale", \.stale)
        automatic = try fields.optional("automatic", \.automatic)
        test = try fields.optional("test", \.test, "A push for one channel alone, with a trace.")
        broadcast = try fields.optional("broadcast", \.broadcast)
        supersededBy = try fields.optional("superseded_by", \.supersededBy, .pushID)
        createdAt = try fields("created_at", \.createdAt, .time)
        finishedAt = try fields.nullable("finished_at", \.finishedAt, .time)
        errors = try fields("errors", \.errors, "APNs's reasons, and how often.", or: [:])
        shown = try fields.optional(
            "shown", \.shown, "Devices that told that they show the content state. Absent: none did.")
        ended = try fields.optional("ended", \.ended, "Devices whose card ended while it showed the content state.")
        dismissed = try fields.optional(
            "dismissed", \.dismissed, "Devices whose card was dismissed while it showed the content state.")
        by = try fields.optional("by", \.by)
    }
}
