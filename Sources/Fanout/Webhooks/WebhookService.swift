public import LiveActivity
public import Webhooks

/// An app's webhook, for the worker that sends to it.
public struct WebhookService: Sendable {
    /// Posts events (JSON) once. The time is epoch milliseconds.
    public var post: @Sendable (_ events: [String], _ app: AppKey, _ now: Int64) async -> WebhookAnswer
    /// The longest time that `post` takes.
    public var timeout: Duration
    private let name: @Sendable () -> String
    /// The part of its address that may be shown.
    public var host: String { name() }

    public init(_ webhook: Webhook) { self.init(timeout: webhook.timeout) { webhook } }

    /// - Parameters:
    ///   - timeout: no webhook that `current` returns may have a longer one
    ///   - current: the webhook to use now; a reload may replace it
    public init(timeout: Duration, _ current: @escaping @Sendable () -> Webhook) {
        post = { await current().post($0, of: $1, now: $2) }
        name = { current().host }
        self.timeout = timeout
    }
}
