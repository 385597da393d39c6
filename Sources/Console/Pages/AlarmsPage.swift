import LiveActivity
import Store

/// The alarms of the app: what each means, what to do, and who knows of it.
enum AlarmsPage {
    static func show(_ visit: Visit) async throws -> ConsoleResponse {
        let identity = visit.session.identity
        // A reason names other names.
        let isForAllNames = identity.namePrefix == nil
        let rows = visit.standing.alarms.map { told -> Values in
            let alarm = told.alarm
            let help = alarm.kind.help
            let page = help.page.flatMap { identity.mayOpen($0.path) ? $0 : nil }
            return values([
                "kind": alarm.kind.words, "word": alarm.kind.rawValue,
                "reason": isForAllNames ? alarm.plainReason : nil,
                "since": Shown.time(alarm.since, now: visit.now), "raised": alarm.since, "meaning": help.meaning,
                "ends": help.ends, "page": page.map { ["path": $0.path, "title": $0.title] as Values },
                "runbook": help.runbook,
                "known": told.known.map { known in
                    values(["credential": known.credential, "at": Shown.time(known.at, now: visit.now)])
                },
            ])
        }
        return visit.page(
            "alarms", "Alarms",
            values([
                "alarms": rows, "empty": rows.isEmpty ? true : nil,
                "mayKnow": identity.mayOpen(visit.request.path, "POST") ? true : nil,
            ]))
    }

    /// Says that an alarm is known, or takes that back.
    static func acknowledge(_ visit: Visit) async throws -> ConsoleResponse {
        let wanted = visit.form["kind"]
        guard let told = visit.standing.alarms.first(where: { $0.alarm.kind.rawValue == wanted }) else {
            return visit.redirect("/console/alarms", .alarmOver)
        }
        let isKnown = visit.form["to"] == "known"
        let known = Acknowledgement(
            credential: visit.session.identity.credential, at: visit.now, since: told.alarm.since)
        try await visit.console.store.console.acknowledge(visit.app, told.alarm.kind, isKnown ? known.record : nil)
        return visit.redirect("/console/alarms", isKnown ? .alarmKnown : .alarmLoud)
    }
}

extension Alarm.Kind {
    /// The heading of an alarm. docs/runbooks.md has a runbook for each.
    var words: String {
        switch self {
        case .credentials: "Credentials"
        case .unreachable: "APNs is unreachable"
        case .pruneGuard: "Prune guard"
        case .manyUnregistered: "Many unregistered tokens"
        case .otherEnvironment: "Other environment"
        case .broadcast: "Broadcast channels"
        case .expired: "Expired pushes"
        case .webhook: "Webhook"
        case .newerFormat: "Newer format"
        case .clock: "Clocks differ"
        case .redisRights: "Rights in Redis"
        case .export: "Export of pushes"
        }
    }

    /// The runbook in short, and the page where somebody decides.
    fileprivate struct Help {
        var meaning: String
        var ends: String
        /// The heading in docs/runbooks.md.
        var runbook = "LamplighterAlarm"
        var page: (path: String, title: String)?
    }

    fileprivate var help: Help {
        switch self {
        case .credentials:
            Help(
                meaning: "Apple refuses the app's key. Nothing is sent until team, key id, key and environment fit.",
                ends: "It ends with the first delivery.", runbook: "LamplighterCredentialsRefused")
        case .unreachable:
            Help(
                meaning:
                    "Apple is not reached, or takes no requests. Look at the firewall, DNS and Apple's status page.",
                ends: "It ends with the first delivery.", runbook: "LamplighterAPNsUnreachable")
        case .pruneGuard:
            Help(
                meaning:
                    "Apple calls most tokens wrong, so they are kept and get nothing. A key, a topic, an environment "
                    + "or an import changed.",
                ends: "It ends when no token is in quarantine.", runbook: "LamplighterPruneGuard",
                page: ("/console/quarantine", "Decide in Quarantine"))
        case .manyUnregistered:
            Help(
                meaning:
                    "Unusually many cards are gone. It is right if users deleted the app or an old list was imported.",
                ends: "It ends 15 minutes after the last one.", runbook: "LamplighterAlarm",
                page: ("/console/pushes", "Pushes"))
        case .expired:
            Help(
                meaning:
                    "Accepted pushes were not sent in time. Publish the present states, then drop the dead letters.",
                ends: "It ends with the last dead letter, or 15 minutes after the last push that expired.",
                runbook: "LamplighterExpired", page: ("/console/dead", "Decide in Dead letters"))
        case .otherEnvironment:
            Help(
                meaning: "The sandbox refuses the key, or is not reached.",
                ends: "It ends with the first delivery there.")
        case .broadcast:
            Help(
                meaning: "Apple refuses broadcast channels, or broadcasts.",
                ends: "It ends with the first that it takes.",
                page: ("/console/broadcasts", "Broadcast channels"))
        case .webhook:
            Help(
                meaning: "The webhook answers no 2xx. Events wait for it.",
                ends: "It ends with the first event it takes.")
        case .newerFormat:
            Help(
                meaning: "A newer version changed what Redis holds. Install that version here too.",
                ends: "It ends 15 minutes after the last process that stopped.")
        case .clock:
            Help(
                meaning: "The clock of a machine and that of Redis differ. Run a time service on it.",
                ends: "It ends once they agree.")
        case .redisRights:
            Help(
                meaning: "Redis refuses commands, because its user lacks a right.",
                ends: "It ends 15 minutes after the last refusal.")
        case .export:
            Help(
                meaning: "Finished pushes are not exported. What Redis forgets before that is lost to the export.",
                ends: "It ends with the next export that goes well.")
        }
    }
}
