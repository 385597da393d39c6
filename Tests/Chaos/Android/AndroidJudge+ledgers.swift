/// Checks the ledgers of pushes for Android, and that FCM has as many messages as they say.
extension AndroidJudge {
    func judgeLedger(_ push: AndroidName.Sent, _ name: Name) {
        let title = "chaos-\(name.plan.index)/\(push.number)"
        guard let ledger = pushes.find(push.id)?.ledger else {
            found.note(.ledgers, "\(title) \(push.id) has no ledger")
            return
        }
        if let wrong = wrong(push, ledger, name.plan) {
            found.note(.ledgers, "\(title): \(wrong): \(ledger.text)")
        }
    }

    private func wrong(_ push: AndroidName.Sent, _ ledger: Ledger, _ name: AndroidPlan.Name) -> String? {
        guard ledger.isFinal, ledger.isExpanded else { return "not final" }
        guard ledger.addsUp, ledger["pending"] == 0 else { return "does not add up" }
        guard ledger.platforms.values.allSatisfy({ $0.values.allSatisfy { $0 >= 0 } }) else { return "below 0" }
        if !ledger.platforms.isEmpty {
            for part in Ledger.parts + ["targets"] {
                let sum = ledger.platforms.values.reduce(0) { $0 + ($1[part] ?? 0) }
                if sum != ledger[part] { return "\(part) of the platforms is \(sum)" }
            }
        }
        let others = ledger.platforms.filter { $0.key == "ios" ? !push.targets.hasIOS : !push.targets.hasAndroid }
        if others.values.contains(where: { $0["targets"] != 0 }) { return "targets on another platform" }
        // A phone that comes back with another address is another target, but no device changes.
        if Self.count("targets", on: .ios, push, ledger) > name.devices { return "more targets than devices" }
        switch ledger.state {
        case "superseded" where push.mayBeReplaced: return nil
        case "done": return ledger["expired"] > 0 ? "it has no expiry" : nil
        default: return "state \(ledger.state)"
        }
    }

    /// A count of the ledger on one platform.
    static func count(
        _ count: String, on platform: AndroidPlan.Targets, _ push: AndroidName.Sent, _ ledger: Ledger
    ) -> Int {
        if let part = ledger.platforms[platform.rawValue] { return part[count] ?? 0 }
        return push.targets == platform ? ledger[count] : 0
    }

    /// Each message that FCM took is delivered in a ledger. FCM took it twice if the sender lost its answer.
    func judgeCounts(_ tally: inout Tally) {
        let taken = ["accepted", "accepted_unanswered"].reduce(0) { $0 + (histories.totals[$1] ?? 0) }
        tally.requests = histories.totals["requests"] ?? 0
        tally.accepted = taken - (histories.totals["validated"] ?? 0)
        tally.addresses = histories.addresses.count
        var possible = 0
        for push in names.flatMap(\.sent) {
            tally.pushes += 1
            guard let ledger = pushes.find(push.id)?.ledger else { continue }
            tally.delivered += Self.count("delivered", on: .android, push, ledger)
            possible += ledger["duplicates_possible"]
        }
        tally.duplicates = tally.accepted - tally.delivered
        let pages = Fleet.openPages * Fleet.largestPage
        let open = names.reduce(0) { $0 + min($1.plan.phones, pages) }
        let losses = interruptions.filter(\.losesWork).reduce(0) { sum, interruption in
            switch interruption.role {
            case .worker: sum + 1
            case .redis, .node, .server, .sentinel, .simulator: sum + Plan.workers
            case .gateway: sum
            }
        }
        tally.duplicatesAllowed = possible + losses * open + leasesLost * pages
        if !(0...tally.duplicatesAllowed).contains(tally.duplicates) {
            found.note(
                .accepted,
                "FCM took \(tally.accepted), ledgers have \(tally.delivered) as delivered; at most"
                    + " \(tally.duplicatesAllowed) twice")
        }
    }
}
