import Foundation

/// Compares what the simulator recorded with what was accepted. Nothing here asks our own ledger whether a token was reached.
struct Judge: Sendable {
    let plan: Plan
    let activities: [Activity]
    let startTokens: StartTokens
    let pushes: [Push]
    let record: Record
    let interruptions: [Disturber.Interruption]
    let wakes: [(role: Role, at: Int64)]
    let controlURL: String
    let found: Findings

    /// Findings of a kind that are told with the token's requests.
    private static let explained = 20

    func judge() async throws -> Tally {
        var tally = Tally(record)
        let byName = Dictionary(grouping: pushes, by: \.name).mapValues { $0.sorted { $0.number < $1.number } }
        for activity in activities {
            let pushes = byName[activity.plan.index] ?? []
            try await judgeStates(activity, pushes)
            try await judgeFormer(activity, pushes)
        }
        try await judgeOrder(&tally)
        try await judgeStarts(&tally)
        judgeLedgers(&tally)
        return tally
    }

    // MARK: What devices show

    private func judgeStates(_ activity: Activity, _ pushes: [Push]) async throws {
        let places = await activity.places
        for index in places.indices where places[index].state == .following && places[index].fate == .living {
            let place = places[index]
            let id = activity.token(index, place)
            let received = record.tokens[id]
            if judgeNew(id, after: place.after) { continue }
            for push in pushes.reversed() {
                // What came between a start and its card's token is brought to that.
                let isOwed = place.answered < push.underWay || place.startedBy.map { push.number > $0 } ?? false
                guard push.number > place.after, !push.isEnd, !push.isStart, isOwed,
                    activity.covers(push.audience, index)
                else { continue }
                if (received?.shown ?? 0) < push.number {
                    try await explain(
                        .lost, id,
                        "\(describe(id)) shows \(received?.shown.map(String.init) ?? "nothing"), not \(push.number):"
                            + " registered \(place.registered), answered \(place.answered), published \(push.asked)",
                        push)
                }
                break
            }
        }
        for (id, number, after) in await activity.ended where id.fate == .living {
            if judgeNew(id, after: after) { continue }
            let received = record.tokens[id]
            if received?.isEnd == true, let shown = received?.shown, shown >= number { continue }
            try await explain(
                .endLost, id,
                "\(describe(id)) shows \(received?.shown.map(String.init) ?? "nothing"), not the end \(number)",
                pushes.first { $0.number == number })
        }
    }

    /// Whether an end of before its registration ended it.
    private func judgeNew(_ id: TokenID, after: Int) -> Bool {
        guard let received = record.tokens[id], received.isEndedAnew(after: after) else { return false }
        found.note(.endedAnew, "\(describe(id)) registered after end \(after) and got end \(received.shown ?? 0)")
        return true
    }

    /// A push that was published after a token was gone must not reach it.
    private func judgeFormer(_ activity: Activity, _ pushes: [Push]) async throws {
        var last: [TokenID: Int64] = [:]
        for former in await activity.former {
            last[former.id] = min(last[former.id] ?? .max, former.gone)
        }
        for (id, gone) in last {
            guard let newest = record.tokens[id]?.newest, let push = pushes.first(where: { $0.number == newest }),
                push.asked > gone
            else { continue }
            try await explain(.unwanted, id, "\(describe(id)) was gone at \(gone) and got \(newest)", push)
        }
    }

    // MARK: Order on the wire

    private func judgeOrder(_ tally: inout Tally) async throws {
        let suspicious = record.tokens.filter {
            ($0.value.backwards > 0 || $0.value.afterEnd > 0) && !StartTokens.isOne($0.key)
        }.map(\.key)
        if suspicious.isEmpty { return }
        let histories = try await Record.histories(controlURL, Set(suspicious))
        for id in suspicious {
            let after = await activities[Int(id.name)].bornAfter(id)
            judgeOrder(id, histories[id] ?? [], after: after, &tally)
        }
    }

    /// `after`: the end before which the token did not exist.
    private func judgeOrder(_ id: TokenID, _ history: [Request], after: Int, _ tally: inout Tally) {
        var newest = Int.min
        var hasEnded = false
        for request in history {
            // Sent once more, since its worker had died, and answered with a 410 of before the registration: by rule it stays.
            if request.isEnd, request.status == 410, id.fate.mayOutliveItsEnd { hasEnded = false }
            guard request.reached, let number = request.order else { continue }
            let wasOnTheWire = interruptions.contains { $0.ports.contains(request.port) && $0.at <= request.at }
            let finding: Finding? = number < newest ? .backwards : hasEnded && number > newest ? .afterEnd : nil
            if let finding {
                if wasOnTheWire {
                    tally.late += 1
                } else {
                    let words = "\(describe(id)): \(number) after \(newest)\(wake(before: request.at))"
                    found.note(finding, "\(words)\n    \(Request.words(history))")
                }
            }
            newest = max(newest, number)
            if request.isEnd, number > after { hasEnded = true }
        }
    }

    /// A process that woke shortly before, as a hint.
    func wake(before at: Int64) -> String {
        let recent = wakes.filter { (0...15_000).contains(at - $0.at) }.max { $0.at < $1.at }
        return recent.map { ", \(at - $0.at) ms after \($0.role) woke" } ?? ""
    }

    // MARK: Ledgers and duplicates

    private func judgeLedgers(_ tally: inout Tally) {
        for push in pushes {
            guard let ledger = push.ledger else {
                found.note(.ledgers, "\(push.title) \(push.id) has no ledger")
                continue
            }
            for part in Ledger.parts + ["retries", "duplicates_possible", "targets"] {
                tally.ledger[part, default: 0] += ledger[part]
            }
            tally.states[ledger.state, default: 0] += 1
            let isWhole = ledger.isFinal && ledger.isExpanded && ledger.addsUp && ledger["pending"] == 0
            if !isWhole || ledger.state == "failed" {
                found.note(.ledgers, "\(push.title): \(ledger.text)")
            }
        }
        // Each page that was open when its owner died, lost its lease or its connection may go out once more. A node of a cluster
        // counts like the one Redis: its names' leases may lapse, and where it holds the streams, or every node is needed, those
        // of all. Nothing else is granted: what a node has answered is in its file, and it comes back with it.
        let losses = interruptions.filter(\.losesWork).reduce(0) { sum, interruption in
            switch interruption.role {
            case .worker: sum + 1
            case .redis, .node, .simulator: sum + Plan.workers
            case .gateway: sum
            }
        }
        tally.losses = losses
        tally.duplicatesAllowed = losses * Tally.openAtOnce(plan) + tally.ledger["duplicates_possible", default: 0]
        if tally.duplicates > tally.duplicatesAllowed {
            found.note(.duplicates, "\(tally.duplicates), at most \(tally.duplicatesAllowed) are explained")
        }
    }

    // MARK: Words

    func describe(_ id: TokenID) -> String {
        let words =
            StartTokens.isOne(id)
            ? "start token of \(id.place)" : "chaos-\(id.name) place \(id.place) generation \(id.generation)"
        return "\(words) (\(id.fate), \(Tokens.hex(id).prefix(18))…)"
    }

    private func explain(_ finding: Finding, _ id: TokenID, _ text: String, _ push: Push?) async throws {
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
    /// Number of the last end for all before this token was registered.
    func bornAfter(_ id: TokenID) -> Int {
        let place = places[Int(id.place)]
        return place.generation == id.generation ? place.after : 0
    }
}
