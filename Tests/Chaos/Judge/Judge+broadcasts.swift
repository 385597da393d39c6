import Foundation

/// Checks what broadcast channels got.
extension Judge {
    /// How long before the first request of a broadcast a worker may have lost the work that explains a second one. A
    /// stopped simulator reads a request when it is resumed.
    private static let lossBefore = Int64(3 * Plan.requestTimeout)

    func judgeBroadcasts(_ pushes: [Int: [Push]], _ tally: inout Tally) async throws {
        let owners = activities.filter(\.plan.hasBroadcastChannel)
        if owners.isEmpty { return }
        let channels = try await Record.broadcastChannels(controlURL)
        let living = channels.count { !$0.isDeleted }
        if living != owners.count {
            found.note(.broadcastChannels, "\(living) exist at APNs, and \(owners.count) names own one")
        }
        let used = Dictionary(grouping: channels.filter { !$0.history.isEmpty }) { channel in
            channel.history.lazy.compactMap(\.order).first.map(NamePlan.index(ofNumber:))
        }
        for activity in owners {
            let own = used[activity.plan.index] ?? []
            if own.count > 1 {
                found.note(.broadcastChannels, "\(activity.plan.name): \(own.count) channels got its pushes")
            }
            let channel = own.first ?? Record.BroadcastChannel(id: "(none)", isDeleted: false, history: [])
            judge(channel, of: activity, pushes[activity.plan.index] ?? [], &tally)
        }
    }

    private func judge(
        _ channel: Record.BroadcastChannel, of activity: Activity, _ pushes: [Push], _ tally: inout Tally
    ) {
        let history = channel.history.filter(\.reached)
        let words = { "\(activity.plan.name), broadcast channel \(channel.id)\n    \(Request.words(channel.history))" }
        judgeOrder(history, pushes, words, &tally)
        let times = Dictionary(grouping: history) { $0.order ?? 0 }
        tally.broadcasts += times.count
        let newest = times.keys.max() ?? 0
        // The simulator keeps only the last requests.
        let oldest = channel.history.count < Fleet.history ? 0 : channel.history.lazy.compactMap(\.order).first ?? 0
        for push in pushes {
            let requests = times[push.number] ?? []
            if !requests.isEmpty, push.audience != .all || push.fate == .deleted {
                found.note(.unwanted, "\(push.title), to \(push.audience), \(push.fate), was broadcast: \(words())")
            }
            judgeRepeats(push, requests, words)
            guard push.audience == .all, push.fate == .kept, push.number > oldest, requests.isEmpty else { continue }
            if !push.mayBeReplaced || newest < push.number {
                found.note(
                    .broadcastLost,
                    "\(push.title) did not reach \(words())\n    ledger: \(push.ledger?.text ?? "none")")
            }
        }
    }

    /// An end is in this order too. Whether the name was open for what came after it is judged where that was accepted.
    private func judgeOrder(_ history: [Request], _ pushes: [Push], _ words: () -> String, _ tally: inout Tally) {
        let unordered = Set(pushes.filter { $0.fate == .unordered }.map(\.number))
        var newest: Request?
        for request in history where !unordered.contains(request.order ?? 0) {
            guard let number = request.order else {
                found.note(.unwanted, "a broadcast without a number: \(words())")
                continue
            }
            if let before = newest?.order, number < before {
                if interruptions.contains(where: { $0.explains(request) }) {
                    tally.late += 1
                } else {
                    let end = newest?.isEnd == true ? "the end " : ""
                    found.note(
                        .broadcastOrder, "\(number) after \(end)\(before)\(wake(before: request.at)): \(words())")
                }
                continue
            }
            newest = request
        }
    }

    /// A broadcast may arrive again only if its worker did not learn the answer, which its ledger counts as an attempt,
    /// or if a worker lost its work before it had settled.
    private func judgeRepeats(_ push: Push, _ requests: [Request], _ words: () -> String) {
        guard requests.count > 1, let first = requests.first?.at, let last = requests.last?.at else { return }
        let losses = interruptions.count { $0.losesWork && (first - Self.lossBefore...last).contains($0.at) }
        let allowed = losses + max(0, (push.ledger?.broadcast?.attempts ?? 0) - 1)
        if requests.count - 1 > allowed {
            found.note(
                .duplicates,
                "\(push.title) was broadcast \(requests.count) times, at most \(allowed + 1) are explained: \(words())")
        }
    }

    /// Names the fault in the ledger's outcome of a push's broadcast.
    func wrongBroadcast(_ push: Push, _ ledger: Ledger) -> String? {
        let isForChannel = activities[push.name].plan.hasBroadcastChannel && push.audience == .all
        guard let state = ledger.broadcast?.state else {
            let mustHave = isForChannel && push.fate == .kept && ledger.state != "superseded"
            return mustHave ? "no broadcast" : nil
        }
        switch state {
        case _ where !isForChannel: return "a broadcast of a push that is not for the channel"
        case "delivered": return nil
        case "superseded" where push.mayBeReplaced: return nil
        case "cancelled" where push.fate == .cancelled || push.fate == .dropped: return nil
        default: return "its broadcast is \(state)"
        }
    }
}
