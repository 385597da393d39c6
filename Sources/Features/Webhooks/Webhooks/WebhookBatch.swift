/// Decides which events of a webhook's queue go into the next request, and what an answer means for them. A value,
/// without clock or I/O.
///
/// Events go out in the order of the queue, many in one request. A webhook that fails gets nothing else until it works
/// again. If it refuses a request, smaller ones tell whether a single event is the reason. The refused event stands
/// aside only once the webhook has taken a later event. A webhook that refuses everything is wrong itself.
struct WebhookBatch {
    /// Most events of a request.
    static let most = 100
    /// Most bytes of a request's events, unless a single one has more.
    static let mostBytes = 256 << 10
    /// How many events that are refused alone, in a row, mean that the webhook itself is wrong.
    static let mostRefused = 8

    enum Action: Equatable {
        /// The webhook has taken the events of the request. It will not take the first `refused` of the queue.
        case delivered(refused: Int, because: String)
        /// Send the next request at once.
        case goOn
        /// Pause, then try again from the head of the queue.
        case backOff
    }

    private var limit = Self.most
    /// How many events at the head of the queue were refused alone, and the last answer to them.
    private var refused = 0
    private var refusal = ""
    /// The oldest event, by its entry.
    private var head = ""
    private var waiting = 0
    private var sent = 0

    /// The events of the next request.
    /// - Parameter events: the oldest of the queue, each with its size in bytes; not empty.
    mutating func next(_ events: [(entry: String, bytes: Int)]) -> Range<Int> {
        // A full queue drops its oldest events.
        if events[0].entry != head || refused >= events.count { refused = 0 }
        (head, waiting) = (events[0].entry, events.count)
        var bytes = 0
        let fitting = events.prefix(limit).prefix { event in
            bytes += event.bytes
            return bytes <= Self.mostBytes
        }
        sent = refused > 0 ? 1 : max(1, fitting.count)
        return refused..<refused + sent
    }

    /// Says what to do after the answer to the request that `next` chose.
    mutating func answered(_ answer: WebhookResult) -> Action {
        switch answer.verdict {
        case .accepted:
            defer { (refused, limit) = (0, min(Self.most, 2 * sent)) }
            return .delivered(refused: refused, because: refusal)
        case .refused where sent > 1:
            limit = sent / 2
            return .goOn
        case .refused:
            (limit, refusal) = (1, answer.reason)
            refused += 1
            if refused < min(Self.mostRefused, waiting) { return .goOn }
        case .failed: break
        }
        refused = 0
        return .backOff
    }
}
