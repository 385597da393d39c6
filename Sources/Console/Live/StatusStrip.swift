import LiveActivity
import Store
import StrictJSON

/// The state of the whole app now: a pause, alarms, workers, and decisions that wait. Every page of the app shows it.
struct StatusStrip: Sendable {
    /// An alarm, and who said that it is known.
    struct Told: Sendable {
        var alarm: Alarm
        var known: Acknowledgement?
    }

    private var snapshot: Snapshot?
    private(set) var alarms: [Told] = []
    /// How many entries wait for somebody on pages of features, by their paths, for the identity's names alone.
    private var waiting: [String: Int] = [:]

    /// For a page without an app.
    init() {}

    init(_ visit: Visit) async { await self.init(visit.console, visit.session.identity) }

    init(_ console: Console, _ identity: ConsoleIdentity) async {
        let app = identity.app
        let found = await console.store.partialSnapshot(
            [app], [.pauses, .alarms, .workers, .deadLetters, .quarantine])
        for entry in MenuEntry.ofFeatures where !found.parts.isEmpty {
            let count = try? await entry.waiting?.count(console.store, app, identity.namePrefix, found.now)
            if let count { waiting[entry.path] = count }
        }
        snapshot = found
        guard !found.alarms.isEmpty else { return }
        let known = (try? await console.store.console.acknowledged(app)) ?? [:]
        alarms = found.alarms.map { alarm in
            let entry = known[alarm.kind].flatMap { Acknowledgement($0) }
            return Told(alarm: alarm, known: entry?.since == alarm.since ? entry : nil)
        }
    }

    private var isPaused: Bool { snapshot?.pauses.contains { $0.name == nil } ?? false }

    /// The pause of one name, in a sentence.
    func obstacle(of name: String) -> String? {
        guard !isPaused, snapshot?.pauses.contains(where: { $0.name?.rawValue == name }) == true else { return nil }
        return "The name is paused: a push is accepted and kept, and goes out once the name is resumed."
    }

    /// The words before the sentence of a push that does not go out at once.
    func waitsFor(_ name: String) -> String? {
        if isPaused { return "Once the app is resumed" }
        return obstacle(of: name).map { _ in "Once the name is resumed" }
    }

    /// The strip of a page.
    /// - Parameters:
    ///   - now: epoch ms; nil: a live part, which must not change with the clock
    ///   - identity: reasons of alarms are about all names
    ///   - isShort: several alarms share a line, because the page is about something else
    func strip(now: Int64?, for identity: ConsoleIdentity, isShort: Bool = false) -> Values {
        let isForAllNames = identity.namePrefix == nil
        guard let snapshot else { return [:] }
        guard snapshot.parts.contains(.pauses) else { return ["unknown": true] }
        let pause = snapshot.pauses.first { $0.name == nil }
        let isWithoutWorker = snapshot.parts.contains(.workers) && !snapshot.workers.contains(where: \.isAtWork)
        let told = alarms.filter { $0.known == nil }
        let isOneLine = isShort && told.count > 1
        return values([
            "pause": pause.map { ["since": Shown.time($0.since, now: now) as Any] as Values },
            "noWorker": isWithoutWorker ? true : nil,
            "lines": MenuEntry.ofFeatures.compactMap { entry -> Values? in
                guard let line = entry.waiting, let count = waiting[entry.path], count > 0,
                    identity.scopes.contains(line.scope)
                else { return nil }
                return ["words": Shown.count(count, line.one, line.many), "path": entry.path, "link": line.link]
            },
            "several": isOneLine
                ? ["count": "\(told.count)", "kinds": told.map(\.alarm.kind.title).joined(separator: ", ")] as Values
                : nil,
            "alarms": (isOneLine ? [] : told).map { told in
                values([
                    "kind": told.alarm.kind.title, "reason": isForAllNames ? told.alarm.plainReason : nil,
                    "since": Shown.time(told.alarm.since, now: now),
                ])
            },
        ])
    }

    /// The number beside a page in the navigation.
    /// - Parameter isForAllNames: the counts of others are left out, because they are of all names
    func badge(_ path: String, isForAllNames: Bool) -> Int {
        guard let snapshot, let app = snapshot.apps.first else { return 0 }
        return switch path {
        case "/console/alarms": alarms.count { $0.known == nil }
        case "/console/dead" where isForAllNames: app.deadLetters
        case "/console/quarantine": app.quarantinedNames
        default: waiting[path] ?? 0
        }
    }
}

/// The word of an operator that an alarm is known. It holds until the alarm ends.
struct Acknowledgement: Sendable {
    /// The id of a credential, `oidc` of people, or `master`.
    var credential: String
    /// The person's name, and the id at the provider, which stays when the name changes.
    var who: String?
    var whoID: String?
    /// Epoch ms.
    var at: Int64
    /// When the alarm was raised that this is about.
    var since: Int64

    init(credential: String, who: String? = nil, whoID: String? = nil, at: Int64, since: Int64) {
        (self.credential, self.who, self.whoID) = (credential, who, whoID)
        (self.at, self.since) = (at, since)
    }

    init?(_ record: [UInt8]) {
        guard let body = try? JSONDocument(record).root.object(), let credential = body.text("credential"),
            let at = try? body["at"]?.integer(), let since = try? body["since"]?.integer()
        else { return nil }
        self.init(
            credential: credential, who: body.text("who"), whoID: body.text("who_id"), at: Int64(at),
            since: Int64(since))
    }

    var record: [UInt8] {
        let texts = [("credential", credential), ("who", who), ("who_id", whoID)]
        let times = [("at", at), ("since", since)].map { JSON.Member($0, .integer($1)) }
        return JSON.object(texts.compactMap { key, text in text.map { JSON.Member(key, .string($0)) } } + times).bytes
    }
}

extension Alarm {
    /// The reason without the command that a shell would need: the page of the alarm leads to the same.
    var plainReason: String { reason.replacing(/; see `[^`]*`/, with: "") }
}
