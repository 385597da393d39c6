import Answers
import LiveActivity
import Store
import StrictJSON

extension Handlers {
    func listActivities(_ call: Call) async throws -> Answer {
        var filter = NameFilter()
        filter.prefix = call.query["prefix"] ?? ""
        filter.part = call.query["contains"] ?? ""
        filter.ended = try call.flag("ended")
        filter.followed = try call.flag("followed")
        let page = try await store.names.list(
            call.app.key, filter, after: call.query["after"], limit: call.limit())
        return Answer(200, ActivitiesAnswer(activities: page.names.map(\.answer), next: page.next))
    }

    func activity(_ call: Call) async throws -> Answer {
        let name = try call.name()
        let info = try await store.names.info(call.app.key, name)
        let broadcast = try await store.broadcasts.channel(call.app.key, name)
        let state = try await store.pushes.lastState(call.app.key, name)
        guard info != nil || broadcast != nil else {
            throw APIError(404, "This name has no followers and no pushes. Check its spelling.", code: 40401)
        }
        let body = ActivityAnswer(
            name: name.rawValue, tokens: info?.tokens ?? 0, shards: info?.buckets ?? 0,
            lastPushID: info?.lastPushID?.description, ended: info?.ended ?? false, broadcast: broadcast?.answer,
            automaticEndAt: info?.automaticEndAt.map(TimeText.text), attributesType: info?.attributesType,
            lastContentState: state?.answer)
        return Answer(200, body)
    }

    /// Push-to-start tokens belong to an attributes type on a channel, not to an activity.
    func startTokens(_ call: Call) async throws -> Answer {
        let type = try call.attributesType()
        let before = call.now - configuration.startTokensStaleAfter.milliseconds
        let found = try await store.tokens.startTokens(call.app.key, type, reportedBefore: before)
        return Answer(
            200,
            StartTokensAnswer(attributesType: type, tokens: found.tokens, stale: found.stale, shards: found.buckets))
    }

    func track(_ call: Call) async throws -> Answer {
        let place = try call.place()
        let registration = try TrackBody.read(
            call.body.collect(), channel: call.channel(), isStart: place.isForStartTokens, now: call.now,
            catchesUp: call.app.catchesUp)
        let result = try await register(registration, in: place, call.app)
        return Answer(200, RegisteredAnswer(result: result == .stored ? "stored" : "stale"))
    }

    func untrack(_ call: Call) async throws -> Answer {
        try await unregister(Untrack(channel: call.channel(), removedAt: call.now), from: call.place(), call.app)
        return .empty
    }

    func register(
        _ registrations: [Registration], in place: TokenPlace, _ app: GatewayApp
    ) async throws -> [RegistrationResult] {
        guard !registrations.isEmpty else { return [] }
        let results = try await store.registry.track(app.key, place, registrations, endAfter: app.endAfter)
        note(results, in: place, app)
        return results
    }

    /// Stores the registration of a device, with those of the same name that come at once.
    func register(
        _ registration: Registration, in place: TokenPlace, _ app: GatewayApp
    ) async throws -> RegistrationResult {
        let result = try await store.registry.track(app.key, place, registration, endAfter: app.endAfter)
        note([result], in: place, app)
        return result
    }

    private func note(_ results: [RegistrationResult], in place: TokenPlace, _ app: GatewayApp) {
        let stored = results.count { $0 == .stored }
        metrics.registered(app.key, outcome: place.isForStartTokens ? "start_token" : "stored", count: stored)
        metrics.registered(app.key, outcome: "stale", count: results.count - stored)
    }

    func unregister(_ untrack: Untrack, from place: TokenPlace, _ app: GatewayApp) async throws {
        try await store.registry.untrack(app.key, place, [untrack])
        metrics.registered(app.key, outcome: place.isForStartTokens ? "start_token_removed" : "removed")
    }
}

extension LastState {
    /// Nil if the payload cannot be read.
    fileprivate var answer: LastContentStateAnswer? {
        let aps = try? JSONDocument(payload).root.object()["aps"]?.object()
        guard let state = aps?["content-state"] else { return nil }
        return LastContentStateAnswer(
            pushID: ledger.id.description, event: ledger.event.rawValue,
            acceptedAt: TimeText.text(ledger.createdAt), audience: audience.answer,
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
