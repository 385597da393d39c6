import Foundation

/// Compares the simulator's record with the accepted pushes. Whether a token was reached is never read
/// from our own ledger.
struct Judge: Sendable {
    let plan: Plan
    let activities: [Activity]
    let startTokens: StartTokens
    let pushes: [Push]
    /// The name and the number of each end that was cancelled.
    let cancelledEnds: Set<[Int]>
    let record: Record
    let interruptions: [Disturber.Interruption]
    let wakes: [(role: Role, at: Int64)]
    /// The leases that ran out, each with the pushes of its open pages.
    let leasesLost: [[String]]
    let controlURL: String
    let found: Findings

    /// How many findings of each kind are printed with the token's requests.
    static let explained = 20

    func judge() async throws -> Tally {
        var tally = Tally(record)
        let byName = Dictionary(grouping: pushes, by: \.name).mapValues { $0.sorted { $0.number < $1.number } }
        for activity in activities {
            let pushes = byName[activity.plan.index] ?? []
            try await judgeStates(activity, pushes)
            tally.stopped += await activity.stopped
            tally.expired += await activity.expired
            try await judgeFormer(activity, pushes)
        }
        try await judgeLate(byName, &tally)
        try await judgeOrder(&tally)
        try await judgeStarts(&tally)
        try await judgeBroadcasts(byName, &tally)
        try await judgeLedgers(&tally)
        return tally
    }

    /// Checks that a push which was published after a token's removal did not reach that token, and that no old
    /// registration took its place again.
    private func judgeFormer(_ activity: Activity, _ pushes: [Push]) async throws {
        var first: [TokenID: Activity.Former] = [:]
        for former in await activity.former where former.gone < first[former.id]?.gone ?? .max {
            first[former.id] = former
        }
        for one in await activity.returned where !mayHaveLost(one.former) {
            found.note(.revived, "the old token of \(describe(one.former.id)) said again: \(one.answer)")
        }
        for (id, former) in first {
            guard let newest = record.tokens[id]?.newest, let push = pushes.first(where: { $0.number == newest }),
                push.asked > former.gone, !mayHaveLost(former)
            else { continue }
            try await explain(.unwanted, id, "\(describe(id)) was gone at \(former.gone) and got \(newest)", push)
        }
    }

    /// Whether a failover may have lost the change that made this token a former one.
    private func mayHaveLost(_ former: Activity.Former) -> Bool {
        interruptions.contains { $0.mayLose(answered: former.answered) }
    }

    // MARK: Order on the wire

    private func judgeOrder(_ tally: inout Tally) async throws {
        let suspicious = record.tokens.filter {
            ($0.value.backwards > 0 || $0.value.afterEnd > 0) && !StartTokens.isOne($0.key)
        }.map(\.key)
        if suspicious.isEmpty { return }
        let histories = try await Record.histories(controlURL, Set(suspicious))
        let unordered = Set(pushes.filter { $0.fate == .unordered }.map { [$0.name, $0.number] })
        for id in suspicious {
            let after = await activities[Int(id.name)].lastEnd(before: id)
            let history = (histories[id] ?? []).filter { !unordered.contains([Int(id.name), $0.order ?? 0]) }
            judgeOrder(id, history, after: after, &tally)
        }
    }

    /// `after` is the number of the last end before the token's registration.
    private func judgeOrder(_ id: TokenID, _ history: [Request], after: Int, _ tally: inout Tally) {
        var newest = Int.min
        // From when on the end must be known: nothing that leaves later may arrive.
        var endKnown = Int64.max
        for request in history {
            // The worker died, so the end was sent once more and got a 410 from before the registration. By rule
            // the token stays then.
            if request.isEnd, request.status == 410, id.fate.mayOutliveItsEnd { endKnown = .max }
            guard request.reached, let number = request.order else { continue }
            let wasOnTheWire = interruptions.contains { $0.explains(request) }
            let hasEnded = request.at >= endKnown && number > newest
            let finding: Finding? = number < newest ? .backwards : hasEnded ? .afterEnd : nil
            if let finding {
                if wasOnTheWire {
                    tally.late += 1
                } else {
                    let words = "\(describe(id)): \(number) after \(newest)\(wake(before: request.at))"
                    found.note(finding, "\(words)\n    \(Request.words(history))")
                }
            }
            // For workers nobody got this push, which was cancelled. So the push before it comes back.
            if unnoticed(request, of: Int(id.name)) == nil { newest = max(newest, number) }
            guard request.isEnd, number > after else { continue }
            endKnown = min(endKnown, request.at + noticing(request, of: Int(id.name)))
        }
    }

    /// How long after the arrival of an end (ms) others may arrive. A page whose lease ran out is not settled, so the
    /// worker notes the end's 200 alone, which may take that long if Redis is slow. Nil workers know of it: for ever.
    private func noticing(_ request: Request, of name: Int) -> Int64 {
        switch unnoticed(request, of: name) {
        case nil: 0
        case .late: Int64(2 * (Plan.requestTimeout + Plan.claimAfter))
        case .never: .max / 2
        }
    }

    private enum Unnoticed { case late, never }

    /// Whether a cancelled push arrived and workers learned of it late or never, so its device shows the push. An
    /// update of which they know one arrival brings nothing back.
    ///
    /// Never: it had no answer, or its process was killed or suspended about then, or Redis was away until the page's
    /// lease had lapsed and longer. Late: the worker was too busy for the lease. Then the end's ledger has fewer tokens
    /// than the end reached.
    private func unnoticed(_ request: Request, of name: Int) -> Unnoticed? {
        guard request.reached,
            let push = pushes.first(where: {
                $0.name == name && $0.number == request.order && $0.fate == .cancelled
            }), request.isEnd || push.ledger?["delivered"] == 0
        else { return nil }
        if request.status == nil { return .never }
        let near = interruptions.filter {
            $0.losesWork && abs($0.at - request.at) <= 2 * Int64(Plan.requestTimeout)
        }
        if near.contains(where: { $0.ports.contains(request.port) }) { return .never }
        let isRedis = near.contains(where: \.role.isRedis)
        guard isRedis || leasesLost.contains(where: { $0.contains(push.id) }), let ledger = push.ledger else {
            return nil
        }
        let shown = record.tokens.count(where: { Int($0.key.name) == name && $0.value.end == push.number })
        guard !request.isEnd || ledger["delivered"] < shown else { return nil }
        return isRedis ? .never : .late
    }

    /// Whether such an end is what the device of this token shows.
    func showsUnnoticedEnd(_ id: TokenID) async throws -> Bool {
        guard let end = record.tokens[id]?.end, cancelledEnds.contains([Int(id.name), end]) else { return false }
        return try await Record.history(controlURL, id).contains {
            $0.order == end && unnoticed($0, of: Int(id.name)) != nil
        }
    }

    /// Names a process that was resumed shortly before, as a hint for the reader.
    func wake(before at: Int64) -> String {
        let recent = wakes.filter { (0...15_000).contains(at - $0.at) }.max { $0.at < $1.at }
        return recent.map { ", \(at - $0.at) ms after \($0.role) woke" } ?? ""
    }

    // MARK: Words

    func describe(_ id: TokenID) -> String {
        let words =
            StartTokens.isOne(id)
            ? "start token of \(id.place)" : "chaos-\(id.name) place \(id.place) generation \(id.generation)"
        return "\(words) (\(id.fate), \(Tokens.hex(id).prefix(18))…)"
    }

    func explain(_ finding: Finding, _ id: TokenID, _ text: String, _ push: Push?) async throws {
        var words = text
        if found.count(finding) < Self.explained {
            let history = record.tokens[id] == nil ? [] : try await Record.history(controlURL, id)
            words += "\n    " + Request.words(history)
            if let push { words += "\n    ledger: \(push.ledger?.text ?? "none")" }
        }
        found.note(finding, words)
    }
}

extension Activity {
    /// The number of the last end for all before this token was registered.
    func lastEnd(before id: TokenID) -> Int {
        let place = places[Int(id.place)]
        return place.generation == id.generation ? place.after : 0
    }
}
