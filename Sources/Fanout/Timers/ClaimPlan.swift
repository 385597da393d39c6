import Store

/// Decides whether this worker looks for entries that others have left, without clock or I/O. Each look asks every
/// stream of every app. It is left out while it can find nothing: all workers live and have no work, and have been the
/// same ones for some time. Times are milliseconds.
struct ClaimPlan: Sendable {
    /// A worker that was silent for so long may have died. Its entries can be claimed later than this.
    static let silence: Int64 = 5_000
    /// The entries of a worker that has been dead for so long were claimed, or are found by a look of `net`.
    static let mourning: Int64 = 60_000
    /// The longest time without a look, for workers that came and went between two heartbeats.
    static let net: Int64 = 60_000
    /// With a shorter `claimAfter`, entries could be claimed before the silence is noticed.
    static let least: Int64 = 8_000

    private let claimAfter: Int64
    private var workers: Set<String>?
    private var until: Int64
    private var last: Int64 = .min

    /// - Parameter now: by the worker's own clock
    init(claimAfter: Int64, now: Int64) {
        self.claimAfter = claimAfter
        // Workers of before this one's start may have left entries.
        until = now + 3 * claimAfter
    }

    /// - Parameters:
    ///   - isLeft: this worker has left an entry itself.
    ///   - heartbeats: nil when Redis did not answer, or if some cannot be read.
    ///   - time: epoch time of the heartbeats' clock
    ///   - now: by the worker's own clock
    mutating func mustLook(isLeft: Bool, _ heartbeats: [Heartbeat]?, time: Int64, now: Int64) -> Bool {
        let names = heartbeats.map { Set($0.map(\.worker)) }
        let isQuiet = heartbeats.map { $0.allSatisfy { Self.isQuiet($0, claimAfter, time) } } ?? false
        if isLeft || !isQuiet || names != workers { until = now + 3 * claimAfter }
        workers = names
        guard claimAfter < Self.least || now < until || now - last >= Self.net else { return false }
        last = now
        return true
    }

    private static func isQuiet(_ heartbeat: Heartbeat, _ claimAfter: Int64, _ time: Int64) -> Bool {
        let age = time - heartbeat.at
        if age > mourning + 3 * claimAfter { return true }
        // A heartbeat that lies ahead is from before Redis's clock was set back.
        return abs(age) < silence && heartbeat.loads.values.allSatisfy { $0.pages == 0 && $0.inFlight == 0 }
    }
}
