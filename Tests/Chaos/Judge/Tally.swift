/// The numbers of a run.
struct Tally: Sendable {
    /// The most tokens in open pages of one worker: pages of every small name, which is one task, and of some shards.
    static func openAtOnce(_ plan: Plan) -> Int {
        let pages = Fleet.openPages * Fleet.page
        let large = plan.names.filter { $0.initial >= 2_500 }
        let small = plan.names.filter { $0.initial < 2_500 }
        return small.reduce(0) { $0 + min($1.pool, pages) } + min(large.count * 2, Fleet.shards) * pages
    }

    var requests = 0
    var accepted = 0
    var tokens = 0
    /// The longest time, ms, in which a phone that APNs answered for had an older state than the newest accepted one.
    var latest: Int64 = 0
    var duplicates = 0
    var duplicatesAllowed = 0
    /// Crashes and suspensions after which others took over work, counted for each worker that lost some.
    var losses = 0
    /// Leases that ran out, of processes that lived.
    var leasesLost = 0
    /// Requests that came late, because they were already on the wire of a killed or suspended process.
    var late = 0
    /// Starts that must have come, cards that reported a token, and starts that a worker had claimed when
    /// their end was accepted.
    var startsExpected = 0
    var startsReported = 0
    var startsOpenAtEnd = 0
    /// Broadcasts that reached their channel, each counted once, and schedules beside an end or a start that were sent.
    var broadcasts = 0
    var racedAndSent = 0
    var raced = 0
    /// Pushes that APNs stopped, and pushes that expired while it accepted nothing.
    var stopped = 0
    var expired = 0
    /// The sum of all ledgers.
    var ledger: [String: Int] = [:]
    var states: [String: Int] = [:]
    var android: AndroidJudge.Tally?

    init(_ record: Record) {
        requests = record.totals["requests"] ?? 0
        accepted = (record.totals["accepted"] ?? 0) + (record.totals["accepted_unanswered"] ?? 0)
        tokens = record.tokens.count
        duplicates = record.tokens.values.reduce(0) { $0 + $1.duplicates }
    }
}
