/// The numbers of a run.
struct Tally: Sendable {
    /// Tokens that a worker can have open at once: pages of every small name, which is one task, and of some shards.
    static func openAtOnce(_ plan: Plan) -> Int {
        let pages = Fleet.openPages * Fleet.page
        let large = plan.names.filter { $0.initial >= 2_500 }
        let small = plan.names.filter { $0.initial < 2_500 }
        return small.reduce(0) { $0 + min($1.pool, pages) } + min(large.count * 2, Fleet.shards) * pages
    }

    var requests = 0
    var accepted = 0
    var tokens = 0
    var duplicates = 0
    var duplicatesAllowed = 0
    /// Deaths and suspensions that made others take work over, counted for each worker that lost some.
    var losses = 0
    /// Requests that a killed or suspended process had on the wire already, and that came late.
    var late = 0
    /// Starts that have to have come, cards that told a token, and starts that a worker had in hand when their end was accepted.
    var startsExpected = 0
    var startsTold = 0
    var startsInHand = 0
    /// Pushes that APNs stopped, and pushes that expired while it was away.
    var stopped = 0
    var expired = 0
    /// All ledgers together.
    var ledger: [String: Int] = [:]
    var states: [String: Int] = [:]

    init(_ record: Record) {
        requests = record.totals["requests"] ?? 0
        accepted = (record.totals["accepted"] ?? 0) + (record.totals["accepted_unanswered"] ?? 0)
        tokens = record.tokens.count
        duplicates = record.totals["duplicates"] ?? 0
    }
}
