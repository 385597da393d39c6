import Answers
import ArgumentParser
import LiveActivity

/// A ledger as a person reads it.
extension LedgerAnswer {
    /// Whether no worker has counted a target yet, so that zeros would say too much.
    private var isUnread: Bool { !isFinal && !expanded && outcomes.targets == 0 }
    /// The reason why a command that waited for the push fails. Nil: enough targets have the push, or a newer push
    /// superseded it.
    /// - Parameter least: the share that has to have it. Nil: somebody, and as many as it missed.
    func failure(below least: Percent?) -> String? {
        if state == "superseded" { return nil }
        guard state == "done" else { return "the push ended as '\(state)' (\(stateText))" }
        guard let least else {
            if reached == 0 { return "the push reached nobody" }
            guard mostlyMissed else { return nil }
            return "the push missed \(Terminal.grouped(missed)) of \(Terminal.counted(outcomes.targets, "target"))"
        }
        guard let reached, reached < least.value else { return nil }
        let counts = "\(Terminal.grouped(outcomes.delivered)) of \(Terminal.grouped(outcomes.targets))"
        return "the push reached \(counts), which is below \(least)"
    }

    /// The time from acceptance to the end. Nil while the push runs.
    private var duration: String? {
        guard let finishedAt, let from = TimeText.parse(createdAt), let to = TimeText.parse(finishedAt) else {
            return nil
        }
        return to - from < 1_000 ? "\(max(0, to - from)) ms" : "\(Double((to - from) / 10) / 100) s"
    }

    var lines: [String] {
        let head = Table(fields: [
            "push": pushID, "name": name,
            "event": "\(event)\(automatic == true ? ", automatic" : ""), priority \(priority)",
            "state": stateText + (supersededBy.map { " by \($0)" } ?? "") + (duration.map { " after \($0)" } ?? ""),
            "by": by.flatMap { $0.second == nil ? nil : $0.caller }, "broadcast": broadcast?.text,
        ])
        let counted = stale.flatMap { $0 > 0 ? Terminal.grouped($0) : nil }
        var counts = Table(
            fields: [
                "targets": isUnread ? "not read yet" : Terminal.grouped(outcomes.targets) + (expanded ? "" : " so far"),
                "delivered": isUnread ? nil : Terminal.grouped(outcomes.delivered), "  to stale start tokens": counted,
            ], numbers: true)
        counts.columns.append(.text())
        let undelivered = SettledField.allCases.filter { $0 != .delivered }.map { ($0.rawValue, outcomes[$0]) }
        for (title, count) in undelivered + [
            ("pending", outcomes.pending), ("retries", retries), ("duplicates possible", duplicatesPossible),
            ("demoted to priority 5", demoted), ("late joiners", late),
        ] where count > 0 || (["pruned", "failed", "pending"].contains(title) && !isUnread) {
            counts.add(title, Terminal.grouped(count))
        }
        for (reason, count) in Terminal.ranked(errors) {
            counts.add(["  \(reason)", Terminal.grouped(count)] + [ReasonText.meaning(reason)].compactMap(\.self))
        }
        for platform in Platform.all {
            guard let part = platforms?.byPlatform[platform] else { continue }
            let text = "\(Terminal.grouped(part.delivered)) of \(Terminal.grouped(part.targets)) delivered"
            counts.add("on \(platform)", text)
        }
        for (title, count) in [("shown", shown), ("ended", ended), ("dismissed", dismissed)] {
            if let count { counts.add("receipts: \(title)", Terminal.grouped(count)) }
        }
        return head.lines + counts.lines
    }
}

extension BroadcastResultAnswer {
    fileprivate var text: String {
        let answer = [status.map(String.init), reason].compactMap { $0 }.joined(separator: " ")
        return state + (answer.isEmpty ? "" : " (\(answer))")
    }
}

/// A share in percent: `95` or `95%`.
struct Percent: ExpressibleByArgument, CustomStringConvertible {
    let value: Double

    init?(argument: String) {
        let digits = argument.hasSuffix("%") ? argument.dropLast() : argument[...]
        guard let value = Double(digits), (0...100).contains(value) else { return nil }
        self.value = value
    }

    var description: String { value == value.rounded() ? "\(Int(value))%" : "\(value)%" }
}

extension ArgumentHelp {
    static let failBelow = ArgumentHelp.value(
        "percent",
        "With --wait: exit with 1 if fewer targets than this got the push. 0 also allows a push that reached nobody.")
}
