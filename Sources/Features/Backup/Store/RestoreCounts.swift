/// The entries of a backup, counted by their outcome.
public struct RestoreCounts: Sendable, Hashable {
    /// Tokens and tombstones that were written.
    public var stored = 0
    /// Entries that were not restored, because Redis has the same or something newer of their channel.
    public var kept = 0
    /// Tokens that were not, because Redis has a newer removal of their channel.
    public var removed = 0
    /// Entries whose life is over, and channels that were not seen for too long.
    public var expired = 0
    /// Entries that no version of Lamplighter writes.
    public var unreadable = 0
    public var names = 0
    public var channels = 0
    public var schemas = 0
    /// Small records that people made for the console.
    public var records = 0
    public var broadcasts = 0
    public var schedules = 0
    /// Schedules that were left out, because their time has passed and they may have been sent.
    public var overdue = 0

    public init() {}

    public static func += (sum: inout RestoreCounts, part: RestoreCounts) {
        let fields: [WritableKeyPath<RestoreCounts, Int>] = [
            \.stored, \.kept, \.removed, \.expired, \.unreadable, \.names, \.channels, \.schemas, \.records,
            \.broadcasts, \.schedules, \.overdue,
        ]
        for field in fields { sum[keyPath: field] += part[keyPath: field] }
    }
}
