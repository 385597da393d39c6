import Answers
import LiveActivity
import Store

/// The log of actions.
struct ActionCalls: CallGroup {
    private let actions: Actions

    init(_ parts: GatewayParts) { actions = parts.store.actions }

    /// `GET /api/actions`: who did what with which credential, the newest first.
    func list(_ call: Call) async throws -> Answer {
        let limit = try call.limit()
        var filter = ActionFilter()
        filter.kinds = Set(
            try call.words("action", ActionKind.all.map(\.rawValue), ActionKind.init(rawValue:)).map(\.rawValue))
        filter.credential = call.query["credential"]
        filter.name = call.query["name"]
        if let from = try call.time("from") { filter.from = from }
        if let to = try call.time("to") { filter.to = to }
        let after = try call.entry()
        let page = try await actions.list(call.app.key, filter, after: after, limit: limit)
        return Answer(200, ActionsAnswer(actions: page.actions.map(\.answer), next: page.next))
    }
}

extension LoggedAction {
    fileprivate var answer: ActionAnswer {
        let subjects = action.subjects
        return ActionAnswer(
            id: entry, at: TimeText.text(at), action: action.kind, credential: action.credential,
            address: action.address, who: action.who, whoID: action.whoID, operationID: action.operation,
            count: action.count,
            failed: action.failed, name: subjects[.name], pushID: subjects[.push], lastPushID: subjects[.lastPush],
            scheduleID: subjects[.schedule], channel: subjects[.channel], attributesType: subjects[.attributesType],
            namedUser: subjects[.namedUser], credentialID: subjects[.credential], entry: subjects[.entry],
            reason: subjects[.reason])
    }
}
