import Foundation
import Synchronization

/// One accepted publish, as its publisher knows it.
struct Push: Sendable {
    var id: String
    var name: Int
    /// The number in its content state. It rises by one with each publish of a name.
    var number: Int
    var isEnd: Bool
    var isStart = false
    /// Whether a newer push may supersede it.
    var mayBeReplaced = false
    var audience: Audience
    /// Epoch ms before its first request was sent.
    var asked: Int64
    /// The last epoch ms at which its sweep was certainly not over. Channels that followed before then must be reached.
    var underWay: Int64
    var ledger: Ledger?
    /// Whether it expires after some seconds.
    var expires = false
    var fate = Fate.kept

    enum Fate: Sendable {
        case kept
        /// The publisher cancelled it, before it was over or afterwards.
        case cancelled
        /// A schedule that was deleted before its time, so nothing of it is sent.
        case deleted
        /// A schedule that was made after the time of another one, so their order is unknown.
        case unordered
        /// A schedule whose time came while its name ended or started. The name may have refused it.
        case raced
        /// A stopped push that an operator dropped.
        case dropped
    }

    /// Whether cards must show this push at the end, or a newer one.
    var mustBeShown: Bool {
        guard fate == .kept, !isEnd, !isStart else { return false }
        return !expires || ledger.map { $0["expired"] == 0 && $0.state != "expired" } ?? true
    }

    var title: String { "chaos-\(name)/\(number)" }
}

/// A ledger as the gateway returns it.
struct Ledger: Sendable {
    static let parts = ["delivered", "pruned", "failed", "superseded", "expired", "skipped", "pending"]
    var state: String
    var isExpanded: Bool
    var counts: [String: Int]
    /// Nil if the push was not for a broadcast channel.
    var broadcast: (state: String, attempts: Int)?
    var text: String

    init?(_ answer: Gateways.Answer) {
        let json = answer.json
        guard answer.status == 200, let state = json["state"] as? String else { return nil }
        self.state = state
        isExpanded = json["expanded"] as? Bool ?? false
        counts = json.compactMapValues { $0 as? Int }
        if let part = json["broadcast"] as? [String: Any] {
            broadcast = (part["state"] as? String ?? "", part["attempts"] as? Int ?? 0)
        }
        text = String(decoding: answer.body, as: UTF8.self)
    }

    subscript(count: String) -> Int { counts[count] ?? 0 }
    /// The ledger of a cancelled push may be final before its sweep has noticed the cancellation.
    var isOver: Bool { isFinal && isExpanded && self["pending"] == 0 && broadcast?.state != "waiting" }
    var isFinal: Bool { !["scheduled", "queued", "sending"].contains(state) }
    var addsUp: Bool { self["targets"] == Self.parts.reduce(0) { $0 + self[$1] } }
}

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
