import Foundation

/// Checks what start tokens got. It reads the requests of all of them, because a token gets one for each
/// start of its channel.
extension Judge {
    /// The longest time for which starts may be sent after an `end` was accepted.
    ///
    /// A worker still sends the pages that it has read. Each request of a page has a deadline, and it may wait
    /// for those before it.
    private static let openLongest = Int64(5 * Plan.requestTimeout)
    /// The most tokens in such pages: the open pages of two shards, and one page of retries.
    private static let mostOpenTokens = (2 * Fleet.openPages + 1) * Fleet.largestPage

    func judgeStarts(_ tally: inout Tally) async throws {
        let histories = try await Record.histories(controlURL, Set(startTokens.ids))
        var collapses: [Int: Set<String?>] = [:]
        var afterEnds: [Int: Set<TokenID>] = [:]
        for (id, history) in histories {
            for request in history {
                guard let number = request.order else { continue }
                let name = NamePlan.index(ofNumber: number)
                collapses[name, default: []].insert(request.collapseID)
                let activity = activities[name]
                if let start = await activity.starts.first(where: { $0.number == number }),
                    !activity.covers(start.audience, Int(id.place))
                {
                    found.note(.unwanted, "\(describe(id)) is not in the audience of \(number)")
                }
                if let end = await judgeEnd(id, request, number, history, &tally) {
                    afterEnds[end, default: []].insert(id)
                }
            }
        }
        for (end, ids) in afterEnds where ids.count > Self.mostOpenTokens {
            found.note(.startLate, "\(ids.count) start tokens got a start after its end \(end)")
        }
        for (name, ids) in collapses where ids.count > 1 || ids.contains(nil) {
            found.note(.startTwice, "chaos-\(name): collapse ids \(ids)")
        }
        if Set(collapses.values).count != collapses.count {
            found.note(.startTwice, "several names have one collapse id")
        }
        for activity in activities { await judgeArrivals(activity, histories, &tally) }
    }

    /// The number of the end that was accepted before the request. Nil if the request was on the wire
    /// of a stopped process.
    private func judgeEnd(
        _ id: TokenID, _ request: Request, _ number: Int, _ history: [Request], _ tally: inout Tally
    ) async -> Int? {
        let activity = activities[NamePlan.index(ofNumber: number)]
        guard let end = await activity.ends.first(where: { $0.number > number }), request.at > end.answered else {
            return nil
        }
        let wasOnTheWire = interruptions.contains { $0.ports.contains(request.port) && $0.at <= request.at }
        if wasOnTheWire || request.at <= end.answered + Self.openLongest {
            tally.startsOpenAtEnd += 1
        } else {
            found.note(
                .startLate,
                "\(describe(id)): start \(number) \(request.at - end.answered) ms after the end \(end.number)"
                    + "\(wake(before: request.at))\n    \(Request.words(history))")
        }
        return wasOnTheWire ? nil : end.number
    }

    private func judgeArrivals(_ activity: Activity, _ histories: [TokenID: [Request]], _ tally: inout Tally) async {
        for start in await activity.starts where start.id != nil && !start.isOvertaken {
            for place in start.expected {
                let id = startTokens.id(place)
                let history = histories[id] ?? []
                tally.startsExpected += 1
                if history.contains(where: { $0.reached && $0.order == start.number }) { continue }
                let push = pushes.first { $0.number == start.number && $0.name == activity.plan.index }
                found.note(
                    .startLost,
                    "\(describe(id)) did not get start \(start.number)\n    \(Request.words(history))\n    ledger: "
                        + (push?.ledger?.text ?? "none"))
            }
        }
        let reported = await activity.places.count { $0.startedBy != nil }
        tally.startsReported += reported
    }
}
