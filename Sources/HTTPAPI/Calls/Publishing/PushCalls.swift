import Answers
import LiveActivity
import Store
import StrictJSON

extension Handlers {
    func pushLedger(_ call: Call) async throws -> Answer {
        guard let ledger = try await self.ledger(call.app.key, call.id("push_id")) else { throw APIError.noSuchPush }
        return Answer(200, ledger.withPublisher)
    }

    /// The content of a push, and its audience.
    func pushContent(_ call: Call) async throws -> Answer {
        let id = try call.id("push_id")
        guard let content = try await store.pushes.content(call.app.key, id) else { throw APIError.noSuchPush }
        let body = ContentAnswer(
            pushID: id.description, audience: content.audience.answer, payloadBytes: content.payload.count,
            payload: RawJSON(checked: content.payload))
        return Answer(200, body)
    }

    /// The exchanges with APNs for the channel that the push traces.
    func pushTrace(_ call: Call) async throws -> Answer {
        let id = try call.id("push_id")
        // The ledger first: if it is final, the trace is complete.
        guard let ledger = try await self.ledger(call.app.key, id) else { throw APIError.noSuchPush }
        guard let trace = try await store.traces.find(call.app.key, ledger.name, id) else {
            throw ledger.state == .scheduled ? APIError.notSentYet : APIError.noTrace
        }
        let body = PushTraceAnswer(
            pushID: id.description, name: ledger.name.rawValue, channelID: trace.channel.description,
            state: ledger.state.rawValue, total: trace.total, exchanges: trace.exchanges.map(RawJSON.init(checked:)))
        return Answer(200, body)
    }

    /// Cancels what is not yet sent. The ledger in the response tells how much was sent before.
    func cancelPush(_ call: Call) async throws -> Answer {
        let id = try call.id("push_id")
        guard let ledger = try await cancel(call.app.key, id, now: call.now) else { throw APIError.noSuchPush }
        return Answer(200, ledger.withPublisher).about([.name: ledger.name.rawValue])
    }
}
