public import LiveActivity
public import Redis

/// Errors of Redis and of its data.
public enum StoreError: Error, Sendable, Hashable {
    case redis(RedisError)
    /// Bytes in Redis that no version of Lamplighter writes. The text says the kind of key, never its content.
    case corrupt(String)
    /// Other processes changed the number of a name's buckets in each of many rounds. The same call may succeed soon.
    case overtaken
    /// Another version wrote what is stored, in another format. This version must not read or write it.
    case otherFormat(Int, known: Int)
    /// A push is committed and may go out, but too few replicas confirmed it in time.
    case unreplicated(replicas: Int, of: Int)
    /// The channel would have too many tags. It was not changed.
    case tooManyTags(ChannelID, limit: Int)
    /// The app has as many as its quota allows. Nothing was added.
    case quotaReached(Quota, limit: Int)

    package static func unexpectedReply(_ what: String) -> StoreError { .redis(.unexpectedReply(what)) }

    /// A reply has another number of items than were asked for.
    package static func wrongCount(_ what: String, _ count: Int, expected: Int) -> StoreError {
        .unexpectedReply("\(what) has \(count) items, expected \(expected)")
    }

    package static func check(_ count: Int, of what: String, is expected: Int) throws(StoreError) {
        if count != expected { throw .wrongCount(what, count, expected: expected) }
    }

    /// Whether the same call may succeed soon without help from an operator.
    public var isPassing: Bool {
        switch self {
        case .redis(let error): error.isRetriable
        case .overtaken: true
        case .corrupt, .otherFormat, .unreplicated, .tooManyTags, .quotaReached: false
        }
    }
    /// Redis lost its streams: it was emptied, or restarted without its data.
    public var isMissingGroup: Bool { if case .redis(.server("NOGROUP", _)) = self { true } else { false } }
}
