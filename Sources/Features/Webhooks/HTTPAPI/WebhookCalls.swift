import Answers
import LiveActivity
import Store
import StrictJSON

/// Calls about the app's webhook: how it does, and the events that it did not take.
struct WebhookCalls: CallGroup {
    private let webhooks: Webhooks
    private let events: Events

    init(_ parts: GatewayParts) { (webhooks, events) = (parts.store.webhooks, parts.store.events) }

    func show(_ call: Call) async throws -> Answer {
        let app = call.app.key
        let status = try await webhooks.status(app)
        let failing = status.failure.map { failure in
            WebhookFailureAnswer(
                since: TimeText.text(failure.since), attempts: failure.attempts, reason: failure.reason,
                nextAttemptAt: TimeText.text(failure.next))
        }
        let body = WebhookAnswer(
            events: events.queued(app).map(\.rawValue), waiting: status.waiting, dead: status.dead,
            dropped: status.dropped, failing: failing)
        return Answer(200, body)
    }

    func listDead(_ call: Call) async throws -> Answer {
        let limit = try call.limit()
        let after = try call.entry()
        let dead = try await webhooks.dead(call.app.key, after: after, limit: limit)
        let next = dead.count == limit ? dead.last?.event.entry : nil
        return Answer(200, DeadEventsAnswer(dead: dead.map(\.answer), next: next))
    }

    /// Body: `{"entry"?}`. Without it, all.
    func retry(_ call: Call) async throws -> Answer {
        let entry = try Self.deadEntry(call)
        let retried = try await webhooks.retry(call.app.key, entry)
        guard retried > 0 || entry == nil else { throw APIError.noDeadEvent }
        return Answer(200, RetriedEventsAnswer(retried: retried)).about([.entry: entry], count: retried)
    }

    func discard(_ call: Call) async throws -> Answer {
        let entry = try Self.deadEntry(call)
        let discarded = try await webhooks.discard(call.app.key, entry)
        guard discarded > 0 || entry == nil else { throw APIError.noDeadEvent }
        return Answer(200, DiscardedEventsAnswer(discarded: discarded)).about([.entry: entry], count: discarded)
    }

    private static func deadEntry(_ call: Call) throws(JSONError) -> String? {
        guard let value = try call.object(known: ["entry"])?["entry"] else { return nil }
        let text = try value.string()
        guard StoredEvent.isEntry(text) else {
            throw value.error("must be the `entry` of a dead event, such as 1795284000184-0")
        }
        return text
    }
}

extension DeadEvent {
    fileprivate var answer: DeadEventAnswer {
        DeadEventAnswer(
            entry: event.entry, reason: reason, addedAt: TimeText.text(addedAt), event: RawJSON(checked: event.text))
    }
}
