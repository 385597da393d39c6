import Answers
import LiveActivity
import Store

/// Why a channel gets the pushes of a name, or does not.
struct ExplainCalls: CallGroup {
    private let store: Store

    init(_ parts: GatewayParts) { store = parts.store }

    /// Whether a channel would get the next push of a name, and if not, why.
    func explain(_ call: Call) async throws -> Answer {
        let (name, channel) = (try call.name(), try call.channel())
        let explanation = try await store.explain(call.app.key, name, channel)
        let now = store.time.now()
        let body = ExplanationAnswer(
            name: name.rawValue, channelID: channel.description, getsNextUpdate: explanation.getsNextUpdate,
            reasons: explanation.reasons(forAllNames: call.namePrefix == nil),
            following: explanation.following?.answer(now),
            lastPush: explanation.lastPush?.answer)
        return Answer(200, body)
    }
}

extension Explanation {
    /// A reason against the next update comes first. Codes stay, texts may change.
    /// - Parameter forAllNames: false leaves out the reasons of alarms, which name others.
    func reasons(forAllNames: Bool) -> [ReasonAnswer] {
        [absence, started, ending, quarantined, addressless, paused, workerless].compactMap(\.self)
            + alarms.filter(holdsBack).map { alarm in
                let reason = forAllNames ? ": \(alarm.reason)" : ""
                return ReasonAnswer(code: "alarm", text: "Alarm \(alarm.kind.rawValue)\(reason).")
            }
            + [queued, given, environment, frequency].compactMap(\.self)
    }

    /// Whether the alarm keeps pushes from the channel. Others of the app do not concern it. A channel that does not
    /// follow is on a platform that nobody knows, so the alarms of all platforms count.
    private func holdsBack(_ alarm: Alarm) -> Bool {
        switch alarm.kind {
        case .credentials, .unreachable: following.map { $0.platform == alarm.platform } ?? true
        case .newerFormat, .redisRights: true
        case .otherEnvironment: following?.isElsewhere == true
        default: false
        }
    }

    private var absence: ReasonAnswer? {
        switch presence {
        case .follows: nil
        case .left(let at):
            ReasonAnswer(code: "left", text: "Its app removed it from the name at \(TimeText.text(at)).")
        case .pruned(let at):
            ReasonAnswer(
                code: "pruned",
                text: "It got an end, or on iOS its token was dead, at \(TimeText.text(at)): it was pruned. "
                    + "Its app must register again.")
        case .over(let at, let platform) where platform.hasOneAddress:
            ReasonAnswer(
                code: "over",
                text: "Its last report is of \(TimeText.text(at)), and it follows for 72 h after a report.")
        case .over(let at, _):
            ReasonAnswer(
                code: "over",
                text: "Its activity is over: the token is of \(TimeText.text(at)), and Apple ends activities after 8 h."
            )
        case .unknown:
            ReasonAnswer(
                code: "unknown",
                text: "It does not follow the name: it never registered for it, or nothing is kept of that any more.")
        }
    }

    private var started: ReasonAnswer? {
        startSentAt.map { time in
            let text = "A start was sent to it at \(TimeText.text(time)). Its app has reported no card since."
            return ReasonAnswer(code: "started", text: text)
        }
    }

    private var ending: ReasonAnswer? {
        let text = "An end closed the name. Updates are refused until a start or a new card opens it."
        return nameHasEnded ? ReasonAnswer(code: "name_ended", text: text) : nil
    }

    private var quarantined: ReasonAnswer? {
        quarantine.map { mark in
            let text = "Its token is quarantined since \(TimeText.text(mark.since)) (\(mark.reason))."
            return ReasonAnswer(code: "quarantined", text: text + " An operator releases or discards it.")
        }
    }

    private var addressless: ReasonAnswer? {
        unreachable.map { reason in
            switch reason {
            case .noAddress:
                ReasonAnswer(
                    code: "no_address",
                    text: "Its channel has no address: \(service) called the last one dead, or the app has told none. "
                        + "The next one brings it back.")
            case .notificationsOff:
                ReasonAnswer(code: "notifications_off", text: "Its user lets the app show no notification.")
            case .quarantined:
                ReasonAnswer(
                    code: "quarantined", text: "Its address is quarantined. An operator releases or discards it.")
            }
        }
    }

    private var paused: ReasonAnswer? {
        pausedSince.map { since in
            let text = "The name or its app is paused since \(TimeText.text(since)). Pushes wait until it is resumed."
            return ReasonAnswer(code: "paused", text: text)
        }
    }

    private var workerless: ReasonAnswer? {
        let text = "No worker of the app has been seen for 30 s. Pushes wait until one runs: start `lamplighter work`."
        return hasWorker ? nil : ReasonAnswer(code: "no_worker", text: text)
    }

    private var service: String { (following?.platform ?? waiting?.platform ?? .ios).body.service }

    private var queued: ReasonAnswer? {
        waiting.map { waiting in
            let next = waiting.due.map { "is tried again at \(TimeText.text($0))" } ?? "was delivered and ends its card"
            let tries = waiting.attempts == 1 ? "1 attempt" : "\(waiting.attempts) attempts"
            let open = waiting.isOpen ? " \(service) has not answered its request yet." : ""
            let text = "Push \(waiting.push), after \(tries), \(next).\(open) Newer pushes come behind it."
            return ReasonAnswer(code: "waiting", text: text)
        }
    }

    private var given: ReasonAnswer? {
        givenUp.map { ReasonAnswer(code: "given_up", text: "The name's last push gave it up: \($0).") }
    }

    private var environment: ReasonAnswer? {
        let text = "Its token is of the app's other APNs environment. Pushes go there."
        return following?.isElsewhere == true ? ReasonAnswer(code: "other_environment", text: text) : nil
    }

    private var frequency: ReasonAnswer? {
        let text = "Frequent updates are switched off on the device. iOS may hold updates of priority 10 back."
        return isInfrequent ? ReasonAnswer(code: "infrequent", text: text) : nil
    }
}
