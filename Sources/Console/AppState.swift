public import Answers
public import LiveActivity

/// An app at this moment, as the strip, Home and Alarms show it. No call of the API answers it, because it is about
/// queues and workers too.
///
/// Nil stands for a part that Redis did not answer.
public struct AppState: Sendable {
    /// A raised alarm, with the words of its kind.
    public struct Alarm: Sendable {
        /// The word of its kind.
        public var kind: String
        /// The word of the alarm: an app has one of a kind for each platform.
        public var word: String
        /// The heading, with a platform other than iOS.
        public var title: String
        public var meaning, ends, runbook: String
        /// The page on which somebody decides about it.
        public var page: (path: String, title: String)?
        /// Epoch ms.
        public var since: Int64
        /// Nil: it may tell of names that the reader's credential is not for.
        public var reason: String?
        /// The person who knows of the alarm. Nil: no person said so.
        public var known: Known?

        public init(
            kind: String, word: String, platform: Platform, title: String, meaning: String, ends: String,
            runbook: String, page: (path: String, title: String)?, since: Int64, reason: String?, known: Known?
        ) {
            (self.kind, self.word, self.meaning, self.ends) = (kind, word, meaning, ends)
            self.title = platform == .ios ? title : "\(title), \(Shown.platform(platform))"
            (self.runbook, self.page, self.since) = (runbook, page, since)
            (self.reason, self.known) = (reason, known)
        }
    }

    /// The word of an operator that an alarm is known. It holds until the alarm ends.
    public struct Known: Sendable {
        /// The id of a credential or of a feature's callers, or `master`.
        public var credential: String
        /// The person's name, and the id at the provider, which stays when the name changes.
        public var who, whoID: String?
        /// Epoch ms.
        public var at: Int64

        public init(credential: String, who: String?, whoID: String?, at: Int64) {
            (self.credential, self.who, self.whoID, self.at) = (credential, who, whoID, at)
        }
    }

    public struct Worker: Sendable {
        public var name: String
        /// Entries that it has read and not acknowledged.
        public var pending: Int
        /// Milliseconds since it was seen.
        public var idle: Int
        public var isAtWork: Bool

        public init(name: String, pending: Int, idle: Int, isAtWork: Bool) {
            (self.name, self.pending, self.idle, self.isAtWork) = (name, pending, idle, isAtWork)
        }
    }

    /// The work that waits for workers.
    public struct Queue: Sendable {
        public var names, shards, retriesDue: Int

        public init(names: Int, shards: Int, retriesDue: Int) {
            (self.names, self.shards, self.retriesDue) = (names, shards, retriesDue)
        }
    }

    public var alarms: [Alarm] = []
    /// The pauses of the app and of the reader's names.
    public var pauses: [PauseAnswer]?
    public var workers: [Worker]?
    /// Pushes with dead letters. Nil for a credential of some names too, as the next two: they are of all names.
    public var deadLetters: Int?
    public var quarantinedNames: Int?
    /// Nil if it was not asked for.
    public var queue: Queue?
    /// The entries that wait for the reader on pages of features: their count by the page's path and query.
    public var waiting: [String: Int] = [:]
    /// How long the first question to Redis took.
    public var answered: Duration = .zero

    public init() {}
}
