/// The sender's reaction to an answer other than 200: `LaneInbox.rejected` within a page, `PageReport` after it.
public enum Verdict: Sendable, Hashable {
    /// The token is dead in this environment (400). Prune it if the channel still has this very token.
    case pruneToken
    /// The token is dead since the answer's timestamp (410). Prune it if it also was registered before that.
    case pruneIfOlder
    /// Try this token later, with backoff.
    case retry
    /// Try this token later on another connection, because this one is closing or belongs to other credentials.
    case retryOnFreshConnection
    /// Sign a new provider token once and repeat.
    case renewProviderToken
    /// Our credentials are wrong. Halt this app's sends, keep the work, raise an alarm.
    case haltApp
    /// This payload or configuration is wrong for every token. Stop the push early and say why.
    case stopPush
    /// The broadcast channel is gone. Make another one and send to that.
    case recreateChannel
}
