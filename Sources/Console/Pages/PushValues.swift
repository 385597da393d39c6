import Answers
import LiveActivity

/// A ledger of the API, as pages show it.
struct PushValues {
    /// A count of the ledger, and what it means.
    struct Count: Sendable {
        let name: String
        let meaning: String
        let of: @Sendable (LedgerAnswer) -> Int
    }

    /// The outcomes, in the order of the ledger's equation.
    static let outcomes = [
        Count(name: "delivered", meaning: "APNs or FCM accepted it") { $0.delivered },
        Count(name: "pruned", meaning: "the token was dead and is removed") { $0.pruned },
        Count(name: "failed", meaning: "given up") { $0.failed },
        Count(name: "superseded", meaning: "a newer push took its place") { $0.superseded },
        Count(name: "expired", meaning: "its time was over") { $0.expired },
        Count(name: "skipped", meaning: "the device had left, or cannot be reached") { $0.skipped },
        Count(name: "pending", meaning: "no outcome yet") { $0.pending },
    ]
    static let others = [
        Count(name: "retries", meaning: "attempts after the first") { $0.retries },
        Count(name: "duplicates_possible", meaning: "sent again because the answer was lost") {
            $0.duplicatesPossible
        },
        Count(name: "demoted", meaning: "sent at priority 5, because the hour's budget was used up") { $0.demoted },
        Count(name: "late", meaning: "joined after the push and got its content state") { $0.late },
        Count(name: "stale", meaning: "start tokens that were reported long ago") { $0.stale ?? 0 },
        Count(name: "shown", meaning: "devices that told of showing it") { $0.shown ?? 0 },
        Count(name: "ended", meaning: "devices that told that their card ended") { $0.ended ?? 0 },
        Count(name: "dismissed", meaning: "devices that told that their card was dismissed") { $0.dismissed ?? 0 },
    ]
    /// The reason of a token that APNs rejected, and that waits for a decision.
    private static let quarantined = "Quarantined"

    let ledger: LedgerAnswer
    /// Epoch ms. Nil in a live part.
    let now: Int64?
    /// How many targets the push will have about, while its ledger still counts them.
    var expected: Int?
    /// Targets a second that get an outcome.
    var rate = 0
    /// The score and the alert. Nil: not known.
    var said: String?

    var id: String { ledger.pushID }
    var state: String { ledger.state }
    var isFinal: Bool { ledger.isFinal }
    /// The targets that the push has or will have.
    private var whole: Int { max(ledger.targets, expected ?? 0) }

    /// The colour follows the reach: a push can be done and have reached nobody, and fail behind all but one device.
    private var mood: String {
        guard ["done", "failed", "expired"].contains(state) else { return state }
        if state == "done", ledger.reached == 0, ledger.missed == 0 { return "nobody" }
        if ledger.mostlyMissed || ledger.reached == 0 { return "failed" }
        return state == "done" ? state : "partly"
    }

    /// For a row of a list.
    var row: Values {
        values([
            "id": id, "path": "/console/pushes/\(id)", "name": ledger.name,
            "namePath": RoomPage.path(ledger.name), "event": ledger.event,
            "state": ledger.stateText, "mood": mood, "created": Shown.time(ledger.createdAt, now: now), "bar": bar,
            "targets": Shown.approximate(whole, isGuess: expected != nil), "delivered": Shown.count(ledger.delivered),
            "broadcast": ledger.broadcast?.state, "said": said ?? false,
            "automatic": ledger.automatic == true ? true : nil, "second": Caller.second(ledger.by),
            "isTest": ledger.test == true,
        ])
    }

    /// The rectangles of the bar, in percent.
    var bar: Values {
        let targets = max(1, whole)
        var x = 0.0
        var parts: [Values] = []
        for outcome in Self.outcomes {
            let count = max(0, outcome.of(ledger))
            guard count > 0 else { continue }
            // A few tokens of many must still be seen.
            let width = max(0.6, Double(count) * 100 / Double(targets))
            parts.append(["name": outcome.name, "x": Self.percent(x), "width": Self.percent(min(width, 100 - x))])
            x = min(100, x + width)
        }
        let spoken = Self.outcomes.filter { $0.of(ledger) > 0 }.map { "\(Shown.count($0.of(ledger))) \($0.name)" }
        return ["parts": parts, "spoken": spoken.isEmpty ? "no targets yet" : spoken.joined(separator: ", ")]
    }

    private static func percent(_ value: Double) -> String {
        let hundredths = Int((value * 100).rounded())
        return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
    }

    /// The targets on each platform, and what became of them. Empty for a push to one platform, which has the sums.
    private var platforms: [Values] {
        guard let parts = ledger.platforms?.byPlatform, parts.count > 1 else { return [] }
        return Platform.all.compactMap { platform in
            guard let part = parts[platform] else { return nil }
            let counts = SettledField.allCases.map { ($0.rawValue, part[$0]) } + [("pending", part.pending)]
            return [
                "name": "on \(Shown.platform(platform))", "count": Shown.count(part.targets),
                "meaning": counts.filter { $0.1 > 0 }.map { "\(Shown.count($0.1)) \($0.0)" }.joined(separator: ", "),
            ]
        }
    }

    /// The live part of the push's page.
    var page: Values {
        var all = row
        func fields(_ list: [Count], always: Bool) -> [Values] {
            list.filter { always || $0.of(ledger) > 0 }.map { field in
                let count = field.of(ledger)
                return values([
                    "name": field.name, "count": Shown.count(count), "meaning": field.meaning,
                    "zero": count == 0 ? true : nil,
                ])
            }
        }
        let sorted = ledger.errors.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        all["outcomes"] = fields(Self.outcomes, always: true)
        let others = fields(Self.others, always: false) + platforms
        all["others"] = others
        all["hasOthers"] = others.isEmpty ? nil : true
        all["reasons"] = sorted.map {
            values(["reason": $0.key, "count": Shown.count($0.value), "meaning": ReasonText.meaning($0.key)])
        }
        all["hasReasons"] = sorted.isEmpty ? nil : true
        all["quarantined"] = ledger.errors[Self.quarantined].map { Shown.count($0, "device", "devices") }
        all["soFar"] = ledger.expanded || isFinal || expected != nil ? nil : true
        all["counted"] = expected.map { _ in Shown.count(ledger.targets) }
        if !isFinal, whole > 0 {
            all["progress"] = "\(Shown.count(ledger.settled)) of \(Shown.approximate(whole, isGuess: expected != nil))"
            all["left"] = ledger.expanded || expected != nil ? ledger.timeLeft(of: whole, rate: Double(rate)) : nil
        }
        all["priority"] = ledger.priority
        all["finished"] = Shown.time(ledger.finishedAt, now: now)
        if let from = TimeText.parse(ledger.createdAt), let to = ledger.finishedAt.flatMap({ TimeText.parse($0) }) {
            all["took"] = Shown.duration(max(0, to - from))
        }
        all["supersededBy"] = ledger.supersededBy
        if let broadcast = ledger.broadcast {
            all["broadcast"] = values([
                "state": broadcast.state, "status": broadcast.status, "reason": broadcast.reason,
            ])
        }
        return all
    }
}
