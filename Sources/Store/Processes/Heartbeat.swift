public import LiveActivity
import StrictJSON

/// A worker's report of itself, every few seconds.
public struct Heartbeat: Sendable, Hashable {
    /// A worker's work for one app. Counts are since its start.
    public struct Load: Sendable, Hashable {
        /// Threads with a connection each, and those whose connection has answered.
        public var lanes = 0
        public var connected = 0
        /// Requests that APNs has not answered yet.
        public var inFlight = 0
        /// Pages that were read and are not answered.
        public var pages = 0
        /// Tokens settled in a second, over the time since the last heartbeat.
        public var rate = 0
        /// Tokens by outcome.
        public var outcomes: [String: Int] = [:]
        /// Answers other than 200, by reason.
        public var errors: [String: Int] = [:]

        public init() {}
    }

    /// The worker's name with its random part.
    public var worker: String
    /// When it was written and when the worker started, epoch ms of Redis's clock.
    public var at: Int64
    public var startedAt: Int64
    public var loads: [AppKey: Load]

    public init(worker: String, at: Int64, startedAt: Int64, loads: [AppKey: Load]) {
        (self.worker, self.at, self.startedAt, self.loads) = (worker, at, startedAt, loads)
    }

    /// The worker's name as it was started with, without the part that makes it the only one.
    var name: Substring { worker.dropLast(9) }

    /// Whether the worker wrote it lately: three heartbeats may get lost. One that lies ahead is from before Redis's
    /// clock was set back, and a living worker has written another one since.
    public func isFresh(now: Int64) -> Bool { now - at < Self.patience && !isAhead(now: now) }
    func isAhead(now: Int64) -> Bool { at - now >= Self.patience }

    private static let patience = 4 * Heartbeats.interval.milliseconds
}

extension Heartbeat {
    /// Numbers that are 0 are left out, so that an app without work costs little.
    var text: String {
        func number(_ value: Int) -> JSON? { value == 0 ? nil : .integer(value) }
        let apps = loads.sorted { $0.key.rawValue < $1.key.rawValue }.map { app, load in
            JSON.Member(
                app.rawValue,
                .fields([
                    "lanes": number(load.lanes), "connected": number(load.connected),
                    "in_flight": number(load.inFlight), "pages": number(load.pages), "rate": number(load.rate),
                    "outcomes": load.outcomes.isEmpty ? nil : .counts(load.outcomes),
                    "errors": load.errors.isEmpty ? nil : .counts(load.errors),
                ]))
        }
        return JSON.fields(["at": .integer(at), "started": .integer(startedAt), "apps": .object(apps)]).text
    }

    /// Nil for a heartbeat that this version cannot read.
    init?(worker: String, text: String) {
        guard let root = try? JSONDocument(text).root.object(), let at = try? root["at"]?.integer(),
            let startedAt = try? root["started"]?.integer(), StoredNumber.read(at) != nil,
            StoredNumber.read(startedAt) != nil, let apps = try? root["apps"]?.object()
        else { return nil }
        self.init(worker: worker, at: at, startedAt: startedAt, loads: [:])
        for (key, value) in apps.members {
            guard let app = try? AppKey(key), let fields = try? value.object() else { continue }
            func number(_ field: String) -> Int {
                (try? fields[field]?.integer()).flatMap { StoredNumber.read($0) } ?? 0
            }
            func counts(_ field: String) -> [String: Int] {
                let members = (try? fields[field]?.object())?.members ?? []
                return Dictionary(
                    members.compactMap { name, count in
                        (try? count.integer()).flatMap { StoredNumber.read($0) }.map { (name, $0) }
                    },
                    uniquingKeysWith: +)
            }
            var load = Load()
            (load.lanes, load.connected) = (number("lanes"), number("connected"))
            (load.inFlight, load.pages, load.rate) = (number("in_flight"), number("pages"), number("rate"))
            (load.outcomes, load.errors) = (counts("outcomes"), counts("errors"))
            loads[app] = load
        }
    }
}
