import Answers
import LiveActivity
import Store
import StrictJSON

/// Pauses of an app (no body, or `{}`) or of a name (`{"name":…}`).
extension Handlers {
    func listPauses(_ call: Call) async throws -> Answer { try await pauses(call) }

    func pause(_ call: Call) async throws -> Answer {
        let name = try pausedName(call)
        if let name { try call.check(name) } else { try call.checkAllNames() }
        guard try await store.pauses.pause(call.app.key, name) else {
            throw APIError(429, "\(Pauses.mostNames) names are paused already. Pause the app, or resume some names.")
        }
        return try await pauses(call).about([.name: name?.rawValue])
    }

    func resume(_ call: Call) async throws -> Answer {
        let name = try pausedName(call)
        if let name { try call.check(name) } else { try call.checkAllNames() }
        guard try await store.pauses.resume(call.app.key, name) else {
            throw APIError(404, "This is not paused. GET /api/pauses lists what is.", code: 40403)
        }
        return try await pauses(call).about([.name: name?.rawValue])
    }

    private func pausedName(_ call: Call) throws(JSONError) -> ActivityName? {
        try call.object(known: ["name"])?["name"]?.activityName()
    }

    private func pauses(_ call: Call) async throws -> Answer {
        // A pause of the whole app concerns every name.
        let found = try await store.pauses.list([call.app.key]).filter { $0.name.map(call.covers) ?? true }
        return Answer(200, PausesAnswer(paused: found.map(\.answer)))
    }
}
