import Foundation

/// Checks which tokens are in the registry, by what the simulator receives.
///
/// All faults are over by then. One more push to all of a name reaches exactly the tokens in the registry, and the
/// simulator records them.
struct RegistryCheck: Sendable {
    let activities: [Activity]
    /// A name that no channel follows. It sends a start to all start tokens.
    let starter: Activity
    let startTokens: StartTokens
    let gateways: Gateways
    let pushes: Pushes
    /// The record of the run's own pushes.
    let before: Record
    let deaths: [Int64]
    let interruptions: [Disturber.Interruption]
    let controlURL: String
    let found: Findings

    func run(_ progress: (String) -> Void) async throws {
        let unsettled = unsettled(try await Record.histories(controlURL, Set(startTokens.ids)))
        try await Record.reset(controlURL)
        var expected: [Int: Int] = [:]
        for activity in activities {
            if await activity.isEnded {
                try await judgeEnded(activity)
            } else if try await activity.send(event: "update", audience: .all, mayBeReplaced: false) == nil {
                found.note(.refused, "\(activity.plan.name): the registry check was refused although somebody follows")
            } else {
                expected[activity.plan.index] = await activity.number
            }
        }
        if try await starter.send(event: "start", audience: .all, hasAlert: true) == nil {
            found.note(.refused, "the registry check of start tokens was refused")
        }
        let left = try await pushes.drain(within: .seconds(120)) { progress("registry check, \($0) to go") }
        for push in left { found.note(.ledgers, "the registry check of chaos-\(push.name) did not end") }
        let record = try await Record.read(controlURL)
        for activity in activities where expected[activity.plan.index] != nil {
            await judge(activity, record)
        }
        judgeStartTokens(record, unsettled)
    }

    /// Start tokens whose responses went to workers that were killed or stopped right afterwards. A start that
    /// its end has overtaken by then is not sent again. So the registry learns that these tokens are dead only
    /// from the next start.
    private func unsettled(_ histories: [TokenID: [Request]]) -> Set<TokenID> {
        let histories = histories.filter { _, history in
            history.allSatisfy { request in
                request.status != 400 && request.status != 410
                    || interruptions.contains {
                        $0.losesWork && $0.ports.contains(request.port)
                            && (0...Int64(Plan.claimAfter)).contains($0.at - request.at)
                    }
            }
        }
        return Set(histories.keys)
    }

    private func judge(_ activity: Activity, _ record: Record) async {
        let places = await activity.places
        let cancelled = pushes.cancelledEnds
        for index in places.indices where places[index].state == .following {
            let place = places[index]
            if interruptions.mayLose(place) { continue }
            let id = activity.token(index, place)
            let isThere = record.tokens[id] != nil
            let answers = before.tokens[id]?.deadAnswers ?? 0
            switch isDead(place) {
            case false where before.tokens[id]?.isEndedAnew(after: place.after) == true: break
            // Its worker removed the token, and the page that delivered the end could not be settled.
            case false where before.tokens[id]?.end.map { cancelled.contains([Int(id.name), $0]) } == true: break
            case false where !isThere:
                found.note(
                    .wronglyPruned,
                    "\(words(id)), registered \(place.registered), is not in the registry; \(answers) dead answers")
            case true where isThere && answers > 0:
                found.note(
                    .neverPruned,
                    "\(words(id)), registered \(place.registered), is in the registry after \(answers) dead answers")
            default: break
            }
        }
        for (id, received) in record.tokens where Int(id.name) == activity.plan.index {
            let place = places[Int(id.place)]
            if place.generation == id.generation, place.isUnclear || mayOutliveItsEnd(place) { continue }
            if interruptions.mayLose(place) { continue }
            if Clock.epoch - place.forgotten < activity.forgetting { continue }
            if place.state != .following || place.generation != id.generation {
                let state = "\(place.state), generation \(place.generation)"
                found.note(
                    .revived, "\(words(id)) got the registry check (\(received.accepted)), but its place is \(state)")
            }
        }
    }

    private func judgeStartTokens(_ record: Record, _ unsettled: Set<TokenID>) {
        for id in startTokens.ids {
            let isThere = record.tokens[id] != nil
            let answers = before.tokens[id]?.deadAnswers ?? 0
            switch isDead(id.fate, startTokens.registered) {
            case false where !isThere:
                found.note(.wronglyPruned, "start token of \(id.place) (\(id.fate)); \(answers) dead answers")
            case true where isThere && answers > 0 && !unsettled.contains(id):
                found.note(.neverPruned, "start token of \(id.place) (\(id.fate)) after \(answers) dead answers")
            default: break
            }
        }
    }

    private func isDead(_ place: Activity.Place) -> Bool? { isDead(place.fate, place.registered) }

    /// Whether the token must be dead by rule. Nil if it may be either.
    private func isDead(_ fate: Fate, _ registered: Int64) -> Bool? {
        switch fate {
        case .living, .doubted: false
        case .unregistered, .badDeviceToken, .expired: true
        case .dying(let cohort):
            // A registration after the death is newer than the 410's time.
            deaths.indices.contains(cohort) && registered < deaths[cohort] ? true : nil
        }
    }

    /// Whether a token may stay registered after its `end`.
    ///
    /// An `end` that gets a 410 from before the registration does not arrive and removes nothing, because the token is
    /// newer by rule. This concerns doubted tokens. It also concerns dying tokens of a stage that began late, after the
    /// death of their cohort.
    private func mayOutliveItsEnd(_ place: Activity.Place) -> Bool {
        guard case .ended = place.state else { return false }
        return place.fate == .doubted || isDead(place) == nil
    }

    /// Checks that no token follows a name that ended, except tokens that the end could not reach.
    private func judgeEnded(_ activity: Activity) async throws {
        let answer = try await gateways.call("GET", activity.plan.path, timeout: .seconds(20))
        let tokens = answer.json["tokens"] as? Int ?? 0
        let unreached = await activity.places.count { $0.isUnclear || mayOutliveItsEnd($0) }
        if tokens > unreached {
            found.note(.revived, "\(activity.plan.name) ended, and \(tokens) tokens follow it, not \(unreached)")
        }
        if answer.json["ended"] as? Bool != true {
            found.note(.endIgnored, "\(activity.plan.name) ended, and is not marked so: \(answer.text)")
        }
        if try await activity.send(event: "update", audience: .all) != nil {
            found.note(.endIgnored, "\(activity.plan.name) ended, and takes an update")
        }
    }

    private func words(_ id: TokenID) -> String {
        "chaos-\(id.name) place \(id.place) generation \(id.generation) (\(id.fate))"
    }
}
