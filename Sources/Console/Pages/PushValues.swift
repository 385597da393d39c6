import LiveActivity
import StrictJSON

/// A ledger of the API, as pages show it.
struct PushValues {
    /// In the order of the ledger's equation, with what each one means.
    static let outcomes: [(name: String, meaning: String)] = [
        ("delivered", "APNs accepted it"), ("pruned", "the token was dead and is removed"),
        ("failed", "given up"), ("superseded", "a newer push took its place"),
        ("expired", "its time was over"), ("skipped", "the device did not follow any more"),
        ("pending", "no outcome yet"),
    ]
    static let others: [(name: String, meaning: String)] = [
        ("retries", "attempts after the first"),
        ("duplicates_possible", "sent again because the answer was lost"),
        ("demoted", "sent at priority 5, because the hour's budget was used up"),
        ("late", "joined after the push and got its content state"),
        ("stale", "start tokens that were reported long ago"), ("shown", "devices that told of showing it"),
        ("ended", "devices that told that their card ended"),
        ("dismissed", "devices that told that their card was dismissed"),
    ]
    private static let finals: Set<String> = ["done", "failed", "superseded", "expired", "cancelled"]

    let ledger: JSONObject
    /// Epoch ms. Nil in a live part.
    let now: Int64?

    var id: String { ledger.text("push_id") ?? "" }
    var state: String { ledger.text("state") ?? "" }
    var isFinal: Bool { Self.finals.contains(state) }
    /// Targets with an outcome.
    var settled: Int { ledger.whole("targets") - ledger.whole("pending") }

    /// The colour of the state: a push can be done and have reached hardly anybody.
    private var mood: String {
        state == "done" && ledger.whole("failed") > ledger.whole("delivered") ? "failed" : state
    }

    /// For a row of a list.
    var row: Values {
        let targets = ledger.whole("targets")
        let delivered = ledger.whole("delivered")
        return values([
            "id": id, "path": "/console/pushes/\(id)", "name": ledger.text("name"),
            "namePath": "/console/names/\(Form.encoded(ledger.text("name") ?? ""))", "event": ledger.text("event"),
            "state": state, "mood": mood, "created": Shown.time(ledger.time("created_at"), now: now), "bar": bar,
            "targets": Shown.count(targets), "delivered": Shown.count(delivered),
            "broadcast": ledger.object("broadcast")?.text("state"),
            "automatic": ledger.flag("automatic") ? true : nil,
        ])
    }

    /// The rectangles of the bar, in percent.
    var bar: Values {
        let targets = max(1, ledger.whole("targets"))
        var x = 0.0
        var parts: [Values] = []
        for (name, _) in Self.outcomes {
            let count = max(0, ledger.whole(name))
            guard count > 0 else { continue }
            // A few tokens of many must still be seen.
            let width = max(0.6, Double(count) * 100 / Double(targets))
            parts.append(["name": name, "x": Self.percent(x), "width": Self.percent(min(width, 100 - x))])
            x = min(100, x + width)
        }
        let spoken = Self.outcomes.compactMap { name, _ in
            ledger.whole(name) > 0 ? "\(Shown.count(ledger.whole(name))) \(name)" : nil
        }
        return ["parts": parts, "spoken": spoken.isEmpty ? "no targets yet" : spoken.joined(separator: ", ")]
    }

    private static func percent(_ value: Double) -> String {
        let hundredths = Int((value * 100).rounded())
        return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
    }

    /// The live part of the push's page.
    var whole: Values {
        var all = row
        func fields(_ list: [(name: String, meaning: String)], always: Bool) -> [Values] {
            list.filter { always || ledger.whole($0.name) > 0 }.map { name, meaning in
                values([
                    "name": name, "count": Shown.count(ledger.whole(name)), "meaning": meaning,
                    "zero": ledger.whole(name) == 0 ? true : nil,
                ])
            }
        }
        let errors = ledger.object("errors")?.members.compactMap { reason, count in
            (try? count.integer()).map { (reason: reason, count: Int($0)) }
        }
        let sorted = (errors ?? []).sorted { ($1.count, $0.reason) < ($0.count, $1.reason) }
        all["outcomes"] = fields(Self.outcomes, always: true)
        all["others"] = fields(Self.others, always: false)
        all["hasOthers"] = Self.others.contains { ledger.whole($0.name) > 0 } ? true : nil
        all["reasons"] = sorted.map {
            values(["reason": $0.reason, "count": Shown.count($0.count), "meaning": ReasonText.meaning($0.reason)])
        }
        all["hasReasons"] = sorted.isEmpty ? nil : true
        all["soFar"] = ledger.flag("expanded") || isFinal ? nil : true
        all["priority"] = ledger.whole("priority")
        all["finished"] = Shown.time(ledger.time("finished_at"), now: now)
        if let from = ledger.time("created_at"), let to = ledger.time("finished_at") {
            all["took"] = Shown.duration(max(0, to - from))
        }
        all["supersededBy"] = ledger.text("superseded_by")
        if let broadcast = ledger.object("broadcast") {
            all["broadcast"] = values([
                "state": broadcast.text("state"), "status": broadcast["status"]?.shown,
                "reason": broadcast.text("reason"),
            ])
        }
        return all
    }
}
