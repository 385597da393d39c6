import Synchronization

/// All accepted pushes of a run. It watches those that are not over.
final class Pushes: Sendable {
    private let pushes = Mutex<[String: Push]>([:])
    private let gateways: Gateways

    private let log: EventLog

    init(_ gateways: Gateways, _ log: EventLog) {
        self.gateways = gateways
        self.log = log
    }

    func add(_ push: Push) {
        pushes.withLock { $0[push.id] = push }
        log.note(
            "\(push.title)\(push.isEnd ? " (end)" : push.isStart ? " (start)" : "") to \(push.audience) accepted as \(push.id)"
        )
    }

    func mark(_ id: String, _ fate: Push.Fate) { pushes.withLock { $0[id]?.fate = fate } }
    func find(_ id: String) -> Push? { pushes.withLock { $0[id] } }

    var all: [Push] { pushes.withLock { Array($0.values) } }
    /// The name and the number of each end that was cancelled.
    var cancelledEnds: Set<[Int]> {
        Set(all.filter { $0.isEnd && $0.fate == .cancelled }.map { [$0.name, $0.number] })
    }
    var count: Int { pushes.withLock { $0.count } }
    var open: [Push] { pushes.withLock { $0.values.filter { $0.ledger?.isOver != true } } }

    /// Reads one ledger.
    func look(_ id: String) async throws -> Ledger? {
        let asked = Clock.epoch
        let ledger = Ledger(try await gateways.call("GET", "/api/push/\(id)"))
        pushes.withLock { pushes in
            guard var push = pushes[id] else { return }
            push.ledger = ledger
            if let ledger, !ledger.isExpanded, !ledger.isFinal { push.underWay = max(push.underWay, asked) }
            pushes[id] = push
        }
        return ledger
    }

    /// Watches the newest pushes of the names in `large`, whose sweeps take long. Runs until cancelled.
    func watch(_ large: Set<Int>) async {
        while !Task.isCancelled {
            let watched = open.filter { large.contains($0.name) && $0.ledger?.isExpanded != true }
                .sorted { $0.asked > $1.asked }.prefix(8)
            for push in watched where !Task.isCancelled { _ = try? await look(push.id) }
            try? await Task.sleep(for: .milliseconds(300))
        }
    }

    /// Waits until every push is final. Returns the pushes that are not final after `limit`.
    func drain(within limit: Duration, _ progress: (Int) -> Void) async throws -> [Push] {
        let end = ContinuousClock.now + limit
        while true {
            for push in open.sorted(by: { $0.asked < $1.asked }) { _ = try await look(push.id) }
            let left = open
            progress(left.count)
            if left.isEmpty || ContinuousClock.now > end { return left }
            try await Task.sleep(for: .milliseconds(300))
        }
    }
}
