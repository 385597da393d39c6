public import LiveActivity

/// Something that an operator must look at. It stands until a worker clears it or it is not repeated for a while.
public struct Alarm: Sendable, Hashable {
    public var app: AppKey
    /// The platform that it concerns. iOS also stands for an alarm that concerns none.
    public var platform = Platform.ios
    public var kind: Kind
    public var reason: String
    /// Epoch milliseconds of its first raising.
    public var since: Int64

    /// The platform's name in answers. Nil: iOS, or none.
    public var platformName: String? { platform == .ios ? nil : platform.name }

    /// Its word in Redis, and in the console's forms. The fields of the alarms of iOS have the kind's word alone.
    public var word: String { platform == .ios ? kind.rawValue : "\(kind.rawValue)@\(platform.code)" }
}

extension Alarm {
    /// A kind of alarm with its words: one row each in `Alarm+kinds.swift`.
    public struct Kind: Sendable, Hashable, CustomStringConvertible {
        /// A page of the console where somebody decides.
        public struct Page: Sendable, Hashable {
            public let path: String
            public let title: String
        }

        /// Its word in Redis, in the API and in metrics.
        public let rawValue: String
        /// The heading of the alarm.
        public let title: String
        /// The text of the log, which an operator reads first.
        public let logText: String
        /// The runbook in short.
        public let meaning: String
        /// When it ends by itself.
        public let ends: String
        /// The heading in docs/runbooks.md.
        public let runbook: String
        public let page: Page?
        /// An alarm that no worker repeats ends after this: the workers are gone, or the app has nothing to send.
        package let life: Duration
        /// Whether the app's queue of events gets it. An alarm that nobody takes from the queue cannot be told so.
        let isQueued: Bool

        package init(
            _ rawValue: String, title: String, log: String, meaning: String, ends: String,
            runbook: String = "LamplighterAlarm", page: (path: String, title: String)? = nil,
            life: Duration = .seconds(900), isQueued: Bool = true
        ) {
            (self.rawValue, self.title, logText) = (rawValue, title, log)
            (self.meaning, self.ends, self.runbook) = (meaning, ends, runbook)
            (self.life, self.isQueued) = (life, isQueued)
            self.page = page.map { Page(path: $0.path, title: $0.title) }
        }

        /// Nil for a word that no kind has.
        public init?(rawValue: String) {
            guard let kind = Self.all.first(where: { $0.rawValue == rawValue }) else { return nil }
            self = kind
        }

        public static func == (left: Kind, right: Kind) -> Bool { left.rawValue == right.rawValue }
        public func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }
        public var description: String { rawValue }
    }
}
