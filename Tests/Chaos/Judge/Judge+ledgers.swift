/// Checks our own ledgers against what devices got.
extension Judge {
    func judgeLedgers(_ tally: inout Tally) async throws {
        for push in pushes {
            guard let ledger = push.ledger else {
                found.note(.ledgers, "\(push.title) \(push.id) has no ledger")
                continue
            }
            for part in Ledger.parts + ["retries", "duplicates_possible", "targets"] {
                tally.ledger[part, default: 0] += ledger[part]
            }
            tally.states[ledger.state, default: 0] += 1
            if push.fate == .raced {
                tally.raced += 1
                tally.racedAndSent += ledger.state == "failed" ? 0 : 1
            }
            if let wrong = wrong(push, ledger) { found.note(.ledgers, "\(push.title): \(wrong): \(ledger.text)") }
        }
        try await judgeDuplicates(&tally)
    }

    private func wrong(_ push: Push, _ ledger: Ledger) -> String? {
        guard ledger.isFinal, ledger.isExpanded else { return "not final" }
        guard ledger.addsUp, ledger["pending"] == 0 else { return "does not add up" }
        if push.fate == .deleted {
            return ledger.state == "cancelled" && ledger["targets"] == 0 ? nil : "a schedule that was deleted"
        }
        if let wrong = wrongBroadcast(push, ledger) { return wrong }
        switch ledger.state {
        // Its name had ended by its time, or a schedule that was made late counts as newer, so it is no push.
        case "failed" where push.fate == .raced || push.fate == .unordered:
            return ledger["targets"] == 0 ? nil : "refused, with targets"
        case "failed" where push.fate != .dropped: return "failed"
        case "cancelled" where push.fate != .cancelled: return "nobody cancelled it"
        case "expired" where !push.expires: return "it has no expiry"
        default: return ledger["expired"] > 0 && !push.expires ? "it has no expiry" : nil
        }
    }

    /// Checks that the number of duplicates can be explained.
    ///
    /// A page that was open when its worker died, or lost its lease or its connection, may be sent once more. A cluster
    /// node counts like the one Redis: the leases of its names may lapse. All leases may lapse if the node holds the
    /// streams, or if the cluster needs every node. No other duplicate is allowed, because a node's file holds
    /// everything that it has answered, and the node restarts with that file.
    private func judgeDuplicates(_ tally: inout Tally) async throws {
        let losses = interruptions.filter(\.losesWork).reduce(0) { sum, interruption in
            switch interruption.role {
            case .worker: sum + 1
            case .redis, .node, .server, .sentinel, .simulator: sum + Plan.workers
            case .gateway: sum
            }
        }
        (tally.losses, tally.leasesLost) = (losses, leasesLost.count)
        // A lease is of one name, which has no more open pages than a worker.
        tally.duplicatesAllowed =
            losses * Tally.openAtOnce(plan) + leasesLost.count * Fleet.openPages * Fleet.page
            + tally.ledger["duplicates_possible", default: 0]
        if tally.duplicates > tally.duplicatesAllowed {
            found.note(.duplicates, "\(tally.duplicates), at most \(tally.duplicatesAllowed) are explained")
            for id in record.tokens.filter({ $0.value.duplicates > 0 }).map(\.key).prefix(Self.explained) {
                try await explain(.duplicates, id, describe(id), nil)
            }
        }
    }
}
