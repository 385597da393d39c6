import Answers
import Store

extension Endpoint {
    static let webhooks: [Endpoint] = [
        Endpoint("GET", "/api/webhook", .master, .read, WebhookCalls.show, [.ok(WebhookAnswer.self)]),
        Endpoint("GET", "/api/webhook/dead", .master, .read, WebhookCalls.listDead, [.ok(DeadEventsAnswer.self)]),
        Endpoint(
            "POST", "/api/webhook/retry", .master, .operate, WebhookCalls.retry, [.ok(RetriedEventsAnswer.self)],
            acts: .retryEvents),
        Endpoint(
            "POST", "/api/webhook/discard", .master, .operate, WebhookCalls.discard,
            [.ok(DiscardedEventsAnswer.self)], acts: .discardEvents),
    ]
}

extension APIError {
    static let noDeadEvent = APIError(404, "No dead event has this entry id.", code: 40401)
}
