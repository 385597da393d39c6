public import Webhooks

/// An app's webhook, for the worker that sends to it.
public struct WebhookService: Sendable {
    private let webhook: @Sendable () -> Webhook

    /// The webhook to use now. Read it once for a request and its lease: a reload may replace it in between.
    public var current: Webhook { webhook() }
    /// The part of its address that may be shown.
    public var host: String { current.host }

    public init(_ webhook: Webhook) { self.init { webhook } }

    /// - Parameter current: the webhook to use now; a reload may replace it.
    public init(_ current: @escaping @Sendable () -> Webhook) { webhook = current }
}
