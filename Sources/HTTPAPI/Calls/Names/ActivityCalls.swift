import Answers
import LiveActivity
import Store
import StrictJSON

/// The names of activities.
struct ActivityCalls: CallGroup {
    private let names: Names
    private let broadcasts: Broadcasts
    private let pushes: Pushes
    private let schemas: Schemas
    private let hints: NameHints

    init(_ parts: GatewayParts) {
        (names, broadcasts) = (parts.store.names, parts.store.broadcasts)
        (pushes, schemas, hints) = (parts.store.pushes, parts.store.schemas, NameHints(parts))
    }

    func list(_ call: Call) async throws -> Answer {
        var filter = NameFilter()
        filter.prefix = try call.listedPrefix()
        filter.part = call.query["contains"] ?? ""
        filter.ended = try call.flag("ended")
        filter.followed = try call.flag("followed")
        let page = try await names.list(call.app.key, filter, after: call.query["after"], limit: call.limit())
        return Answer(200, ActivitiesAnswer(activities: page.names.map(\.answer), next: page.next))
    }

    func show(_ call: Call) async throws -> Answer {
        let name = try call.name()
        let info = try await names.info(call.app.key, name)
        let broadcast = try await broadcasts.channel(call.app.key, name)
        let present = try await pushes.present(call.app.key, name)
        guard info != nil || broadcast != nil else {
            let similar = await hints.similar(to: name, call) ?? ""
            let end = similar.isEmpty ? ". Check its spelling." : similar
            throw APIError(404, "This name has no followers and no pushes\(end)", code: 40401)
        }
        let body = ActivityAnswer(
            name: name.rawValue, tokens: info?.tokens ?? 0, shards: info?.buckets ?? 0,
            lastPushID: info?.lastPushID?.description, ended: info?.ended ?? false, broadcast: broadcast?.answer,
            automaticEndAt: info?.automaticEndAt.map(TimeText.text), attributesType: info?.attributesType,
            newestPush: present.newest?.newestAnswer(call), lastContentState: present.state?.stateAnswer)
        return Answer(200, body)
    }

    /// `{"attributes_type": …}`. Null forgets the type.
    func describe(_ call: Call) async throws -> Answer {
        let name = try call.name()
        let body = try JSONDocument(call.body.collect()).root.object(known: ["attributes_type"])
        let value = try body.required("attributes_type")
        let type = try value.kind == .null ? nil : value.attributesType()
        try await schemas.describe(call.app.key, name, type: type)
        return Answer(200, DoneAnswer())
    }
}

extension PresentPush {
    /// Its content state, read from the payload. Nil if the payload cannot be read.
    fileprivate var stateAnswer: LastContentStateAnswer? {
        let aps = try? JSONDocument(payload).root.object()["aps"]?.object()
        guard let state = aps?["content-state"] else { return nil }
        return LastContentStateAnswer(
            pushID: ledger.id.description, event: ledger.event.rawValue,
            acceptedAt: TimeText.text(ledger.createdAt), audience: audience.answer,
            deviceTypes: audience.deviceTypes,
            contentState: RawJSON(answer: state))
    }
}

extension NameSummary {
    fileprivate var answer: ListedNameAnswer {
        ListedNameAnswer(
            name: name.rawValue, followers: followers, ended: ended, lastPushID: lastPush?.description,
            lastPushAt: lastPush.map { TimeText.text($0.uuid.time) })
    }
}
