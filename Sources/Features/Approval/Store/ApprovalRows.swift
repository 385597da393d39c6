import LiveActivity
import StoreGround

/// The lines of the lists that approval adds.
extension ActionKind {
    static let approval: [ActionKind] = [propose, editProposal, withdraw, approve, reject, lapse]

    /// A publish or a schedule that waits for approval. Without that its call has the word `publish` or `schedule`.
    public static let propose = ActionKind("propose", isOfCall: false)
    public static let editProposal = ActionKind("edit_proposal")
    public static let withdraw = ActionKind("withdraw")
    public static let approve = ActionKind("approve")
    public static let reject = ActionKind("reject")
    /// A proposal was not decided in time.
    public static let lapse = ActionKind("lapse", isOfCall: false)
}

extension Action {
    /// A proposal lapsed, because it was not decided in time. The caller of the action is the person who asked.
    public static func lapse(_ proposal: Proposal) -> Action {
        let asker = proposal.asker.publisher
        var subjects: [Action.Subject: String] = [.entry: proposal.id.description]
        subjects[.name] = proposal.name?.rawValue
        return Action(
            ActionKind.lapse.rawValue, credential: asker.credential, address: asker.address, who: asker.who,
            whoID: asker.whoID, operation: UUIDBytes.random().description,
            subjects: subjects)
    }
}

extension FleetCount {
    /// The proposals that are not decided yet.
    public static let proposals = FleetCount(
        "lamplighter_fleet_approvals_waiting",
        "publishes that wait for the approval of a second person; they lapse"
    ) { store, apps, now throws(StoreError) in
        var counts: [Double] = []
        for app in apps { counts.append(Double(try await store.proposals.count(app, now: now))) }
        return counts
    }
}
