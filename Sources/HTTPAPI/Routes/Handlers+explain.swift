import LiveActivity
import Store
import StrictJSON

extension Handlers {
    /// Whether a channel would get the next push of a name, and if not, why.
    func explain(_ call: Call) async throws -> Answer {
        let (name, channel) = (try call.name(), try call.channel())
        let explanation = try await store.explain(call.app.key, name, channel)
        let now = store.time.now()
        let body = JSON.fields([
            "ok": true, "name": .string(name.rawValue), "channel_id": .string(channel.description),
            "gets_next_update": .bool(explanation.getsNextUpdate),
            "reasons": .array(explanation.reasons.map { ["code": .string($0.code), "text": .string($0.text)] }),
            "following": explanation.following?.json("name", now) ?? JSON.null,
            "last_push": explanation.lastPush?.json ?? JSON.null,
        ])
        return Answer(200, body)
    }
}

extension Explanation {
    /// What stands against the next update, then what else is to be known. Codes stay, texts may change.
    var reasons: [(code: String, text: String)] {
        var found: [(code: String, text: String)] = []
        switch presence {
        case .follows: break
        case .left(let at): found.append(("left", "Its app removed it from the name at \(TimeText.text(at))."))
        case .pruned(let at):
            found.append(
                (
                    "pruned",
                    "Its token was pruned: it was dead, or its activity had ended, at \(TimeText.text(at)). The app must register a new one."
                ))
        case .over(let at):
            found.append(
                ("over", "Its activity is over: the token is of \(TimeText.text(at)), and Apple ends activities after 8 h."))
        case .unknown:
            found.append(
                ("unknown", "It does not follow the name: it never registered a token for it, or that is over 13 h ago."))
        }
        if nameHasEnded {
            found.append(("name_ended", "An end closed the name: updates are refused until a start or a new card opens it."))
        }
        if let quarantine {
            let since = TimeText.text(quarantine.since)
            found.append(
                (
                    "quarantined",
                    "Its token is quarantined since \(since) (\(quarantine.reason)). Release or discard it: lamplighter quarantine."
                ))
        }
        for alarm in alarms { found.append(("alarm", "Alarm \(alarm.kind.rawValue): \(alarm.reason)")) }
        if let waiting {
            let next = waiting.due.map { "the next attempt is due at \(TimeText.text($0))" } ?? "its end was delivered"
            found.append(
                (
                    "waiting",
                    "Push \(waiting.push) waits for it after \(waiting.attempts) attempts; \(next). Newer pushes come behind it."
                ))
        }
        if let givenUp { found.append(("given_up", "The name's last push gave it up: \(givenUp).")) }
        if following?.isElsewhere == true {
            found.append(("other_environment", "Its token is of the app's other APNs environment, and is sent to there."))
        }
        if isInfrequent {
            found.append(
                ("infrequent", "Frequent updates are switched off on the device, so iOS may hold updates at priority 10 back."))
        }
        return found
    }
}
