import Answers
import LiveActivity
import Store
import StrictJSON

/// The calls about one push, by its id.
struct PushCalls: CallGroup {
    private let pushes: Pushes
    private let schedules: Schedules
    private let traces: ExchangeLog
    private let deadLetters: DeadLetters

    init(_ parts: GatewayParts) {
        (pushes, schedules) = (parts.store.pushes, parts.store.schedules)
        (traces, deadLetters) = (parts.store.traces, parts.store.deadLetters)
    }

    func ledger(_ call: Call) async throws -> Answer {
        guard let ledger = try await find(call.app.key, call.id("push_id")) else { throw APIError.noSuchPush }
        return Answer(200, ledger.withPublisher)
    }

    /// The content of a push, and its audience.
    func content(_ call: Call) async throws -> Answer {
        let id = try call.id("push_id")
        guard let push = try await pushes.content(call.app.key, id) else { throw APIError.noSuchPush }
        let contents = push.content.contents
        let blocks = Platform.all.compactMap { platform in
            contents[platform].map {
                JSON.Member(platform.name, platform.body.posted($0, push.ledger.name, push.ledger.event))
            }
        }
        let body = ContentAnswer(
            pushID: id.description, audience: push.audience.answer, deviceTypes: push.audience.deviceTypes,
            payloadBytes: push.payload.count, payload: RawJSON(checked: push.payload),
            notification: contents == PushContent.ofPayload ? nil : RawJSON(checked: JSON.object(blocks).bytes))
        return Answer(200, body)
    }

    /// The exchanges with APNs for the channel that the push traces.
    func trace(_ call: Call) async throws -> Answer {
        let id = try call.id("push_id")
        // The ledger first: if it is final, the trace is complete.
        guard let ledger = try await find(call.app.key, id) else { throw APIError.noSuchPush }
        guard let trace = try await traces.find(call.app.key, ledger.name, id) else {
            throw ledger.state == .scheduled ? APIError.notSentYet : APIError.noTrace
        }
        let body = PushTraceAnswer(
            pushID: id.description, name: ledger.name.rawValue, channelID: trace.channel.description,
            state: ledger.state.rawValue, total: trace.total, exchanges: trace.exchanges.map(RawJSON.init(checked:)))
        return Answer(200, body)
    }

    /// Cancels what is not yet sent. The ledger in the response tells how much was sent before.
    func cancel(_ call: Call) async throws -> Answer {
        let id = try call.id("push_id")
        guard let ledger = try await cancelled(call.app.key, id, now: call.now) else { throw APIError.noSuchPush }
        return Answer(200, ledger.withPublisher).about([.name: ledger.name.rawValue])
    }

    /// Which channels a push did not light, and why, as far as they are kept.
    func channels(_ call: Call) async throws -> Answer {
        let id = try call.id("push_id")
        guard let channels = try await deadLetters.channels(call.app.key, of: id) else {
            throw APIError.noSuchPush
        }
        let rows = channels.map { channel in
            UnlitChannelAnswer(
                channelID: channel.channel.description, outcome: channel.outcome.rawValue, reason: channel.reason)
        }
        return Answer(200, UnlitChannelsAnswer(pushID: id.description, channels: rows))
    }

    /// The ledger of a push, whether it waits for its time or was committed.
    func find(_ app: AppKey, _ id: PushID) async throws(StoreError) -> Ledger? {
        if let ledger = try await pushes.ledger(app, id) { return ledger }
        guard let schedule = try await schedules.find(app, id) else { return nil }
        if let ledger = schedule.ledger { return ledger }
        // The push was committed between the two lookups.
        return try await pushes.ledger(app, id)
    }

    /// Cancels the push, whether it waits for its time or was committed, and returns its ledger.
    /// - Throws: a 409 while a worker that took up the schedule has not committed the push: it may still go out.
    private func cancelled(_ app: AppKey, _ id: PushID, now: Int64) async throws -> Ledger? {
        if let ledger = try await pushes.cancel(app, id, now: now) { return ledger }
        guard let cancellation = try await schedules.cancel(app, id, now: now) else { return nil }
        guard cancellation == .tooLate else { return try await find(app, id) }
        if let ledger = try await pushes.cancel(app, id, now: now) { return ledger }
        if try await schedules.find(app, id)?.state == .taken { throw APIError.beingCommitted }
        // The schedule failed since, or its push is gone.
        return try await find(app, id)
    }
}
