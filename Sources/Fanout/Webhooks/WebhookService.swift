public import LiveActivity
public import Webhooks

/// An app's webhook, for the worker that sends to it.
public struct WebhookService: Sendable {
    /// Posts events (JSON) once. The time is epoch milliseconds.
    public var post: @Sendable (_ events: [String], _ app: AppKey, _ now: Int64) async -> WebhookAnswer
    /// The longest time that `post` takes.
    public var timeout: Duration
    /// The part of its address that may be shown.
    public var host: String

    public init(_ webhook: Webhook) {
        post = { await webhook.post($0, of: $1, now: $2) }
        timeout = webhook.timeout
        host = webhook.host
    }
}
