import Foundation

/// The report that is printed at the end. If something is wrong, it is also written into the run's directory.
struct Report: Sendable {
    let plan: Plan
    let outcome: Run.Outcome
    let found: Findings

    private var numbers: [(name: String, value: Int)] {
        let tally = outcome.tally
        let ledger = Ledger.parts.map { (name: "ledgers: \($0)", value: tally.ledger[$0] ?? 0) }
        return [
            ("pushes accepted", outcome.pushes.count), ("calls repeated after an error", outcome.repeatedCalls),
            ("requests at APNs", tally.requests), ("accepted by APNs", tally.accepted), ("tokens", tally.tokens),
        ] + ledger + [
            ("ledgers: retries", tally.ledger["retries"] ?? 0), ("duplicates", tally.duplicates),
            ("duplicates that deaths and leases explain, at most", tally.duplicatesAllowed),
            ("starts that had to come", tally.startsExpected),
            ("started channels with a token at the end", tally.startsReported),
            ("starts in open pages when their end came", tally.startsOpenAtEnd),
            ("broadcasts that reached their channel", tally.broadcasts),
            ("schedules beside an end or a start", tally.raced), ("of these sent", tally.racedAndSent),
            ("pushes stopped by APNs, then retried or dropped", tally.stopped),
            ("pushes that expired while APNs was away", tally.expired),
            ("ms after which the last healthy phone had a state", Int(tally.latest)),
            ("late on the wire, of the killed and suspended", tally.late),
            ("workers that lost their work", tally.losses), ("leases that ran out", tally.leasesLost),
        ] + (tally.android?.numbers ?? [])
    }

    /// The table of faults, work and guarantees.
    var text: String {
        var lines = ["", "Faults in \(outcome.seconds) s"]
        for (what, count) in outcome.faults.sorted(by: { $0.key < $1.key }) { lines.append(row(what, count)) }
        lines += ["", "Work"] + numbers.map { row($0.name, $0.value) }
        lines += ["", "Guarantees"]
        for finding in Finding.allCases {
            let count = found.count(finding)
            lines.append((count == 0 ? "  ✓ " : "  ✗ ") + row(finding.rawValue, count).dropFirst(2))
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// The first findings of each kind.
    func details(_ limit: Int) -> String {
        var lines: [String] = []
        for finding in Finding.allCases where found.count(finding) > 0 {
            lines.append("\n\(finding.rawValue): \(found.count(finding))")
            lines += found.texts(finding).prefix(limit).map { "  " + $0 }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    func json(directory: String?) throws -> String {
        var object: [String: Any] = [
            "seed": plan.seed, "redis": plan.redis.rawValue, "seconds": outcome.seconds, "ok": found.isEmpty,
            "faults": outcome.faults, "states": outcome.tally.states,
            "numbers": Dictionary(numbers.map { ($0.name, $0.value) }) { first, _ in first },
            "findings": Dictionary(uniqueKeysWithValues: Finding.allCases.map { ($0.rawValue, found.count($0)) }),
        ]
        if let directory { object["directory"] = directory }
        let data = try JSONSerialization.data(withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes])
        return String(decoding: data, as: UTF8.self)
    }

    private func row(_ name: String, _ value: Int) -> String {
        let number = String(value)
        let width = 60
        return "  " + name + String(repeating: " ", count: max(1, width - name.count - number.count)) + number
    }
}
