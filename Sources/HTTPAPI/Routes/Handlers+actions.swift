import LiveActivity
import Store
import StrictJSON

extension Handlers {
    /// `GET /api/actions`: who did what with which credential, the newest first.
    func listActions(_ call: Call) async throws -> Answer {
        let limit = try call.limit()
        var filter = ActionFilter()
        filter.kinds = Set(
            try call.words("action", ActionKind.allCases.map(\.rawValue), ActionKind.init(rawValue:)).map(\.rawValue))
        filter.credential = call.query["credential"]
        filter.name = call.query["name"]
        if let from = try call.time("from") { filter.from = from }
        if let to = try call.time("to") { filter.to = to }
        let after = call.query["after"]
        if let after, !StoredEvent.isEntry(after) {
            throw APIError.parameter("after", "must be the `next` of an earlier page")
        }
        let page = try await store.actions.list(call.app.key, filter, after: after, limit: limit)
        let body = JSON.fields([
            "ok": true, "actions": .array(page.actions.map(\.json)), "next": page.next.map(JSON.string),
        ])
        return Answer(200, body)
    }
}

extension LoggedAction {
    fileprivate var json: JSON {
        var body: JSON = [
            "id": .string(entry), "at": .string(TimeText.text(at)), "action": .string(action.kind),
            "credential": .string(action.credential), "address": .string(action.address),
            "operation_id": .string(action.operation), "count": .integer(action.count),
        ]
        if let failed = action.failed { body.append("failed", .integer(failed)) }
        for subject in Action.Subject.allCases {
            if let text = action.subjects[subject] { body.append(subject.rawValue, .string(text)) }
        }
        return body
    }
}
