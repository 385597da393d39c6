import Store
import StrictJSON

extension StatusLine {
    static let webhooks = StatusLine(key: "webhook") { store, app, now in
        let status = try await store.webhooks.status(app.key)
        return Found(
            json: status.json, text: status.text(now: now), told: status.failure == nil ? nil : .webhook)
    }
}

extension WebhookStatus {
    /// The line about a webhook that needs an operator. Nil: it needs none.
    fileprivate func text(now: Int64) -> String? {
        var parts: [String] = []
        if let failure {
            let next = max(0, (failure.next - now) / 1_000)
            parts.append(
                "the webhook does not take events: \(failure.reason) (\(failure.attempts) attempts, the next in "
                    + "\(next) s, \(Terminal.grouped(waiting)) events wait)")
        }
        if dead > 0 { parts.append("\(Terminal.grouped(dead)) events were given up ('lamplighter events dead')") }
        if dropped > 0 { parts.append("\(Terminal.grouped(dropped)) events were lost because too many waited") }
        return parts.isEmpty ? nil : parts.joined(separator: "; ")
    }

    fileprivate var json: JSON {
        let failing: JSON? = failure.map { failure in
            [
                "since": .integer(failure.since), "attempts": .integer(failure.attempts),
                "reason": .string(failure.reason), "next": .integer(failure.next),
            ]
        }
        return [
            "waiting": .integer(waiting), "dead": .integer(dead), "dropped": .integer(dropped),
            "failing": failing ?? .null,
        ]
    }
}
