import LiveActivity
import Store
import StrictJSON

extension Handlers {
    func pushLedger(_ call: Call) async throws -> Answer {
        guard let ledger = try await self.ledger(call.app.key, call.id("push_id")) else { throw APIError.noSuchPush }
        return Answer(200, ledger.json)
    }

    /// What was sent, and whom it was for.
    func pushContent(_ call: Call) async throws -> Answer {
        let id = try call.id("push_id")
        guard let content = try await store.pushes.content(call.app.key, id) else { throw APIError.noSuchPush }
        let body: JSON = [
            "push_id": .string(id.description), "audience": content.audience.json,
            "payload_bytes": .integer(content.payload.count), "payload": .raw(content.payload),
        ]
        return Answer(200, body)
    }

    /// Cancels what is not yet sent. The ledger in the response tells how much was sent before.
    func cancelPush(_ call: Call) async throws -> Answer {
        let id = try call.id("push_id")
        guard let ledger = try await cancel(call.app.key, id, now: call.now) else { throw APIError.noSuchPush }
        return Answer(200, ledger.json)
    }
}
