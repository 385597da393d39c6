import Answers
import LiveActivity
import Store
import StrictJSON

/// Pauses of an app (no body, or `{}`) or of a name (`{"name":…}`).
struct PauseCalls: CallGroup {
    private let pauses: Pauses
    private let hints: NameHints

    init(_ parts: GatewayParts) { (pauses, hints) = (parts.store.pauses, NameHints(parts)) }

    func list(_ call: Call) async throws -> Answer { try await answer(call) }

    func pause(_ call: Call) async throws -> Answer {
        let name = try pausedName(call)
        if let name { try call.check(name) } else { try call.checkAllNames() }
        guard try await pauses.pause(call.app.key, name) else {
            throw APIError(429, "\(Pauses.mostNames) names are paused already. Pause the app, or resume some names.")
        }
        // A pause of a misspelt name stops nothing, and its publisher believes that it does.
        let hints = if let name { await hints.hints(name, call) } else { [String]() }
        return try await answer(call, hints: hints).about([.name: name?.rawValue])
    }

    func resume(_ call: Call) async throws -> Answer {
        let name = try pausedName(call)
        if let name { try call.check(name) } else { try call.checkAllNames() }
        guard try await pauses.resume(call.app.key, name) else {
            throw APIError(404, "This is not paused. GET /api/pauses lists what is.", code: 40403)
        }
        return try await answer(call).about([.name: name?.rawValue])
    }

    private func pausedName(_ call: Call) throws(JSONError) -> ActivityName? {
        try call.object(known: ["name"])?["name"]?.activityName()
    }

    private func answer(_ call: Call, hints: [String] = []) async throws -> Answer {
        // A pause of the whole app concerns every name.
        let found = try await pauses.list([call.app.key]).filter { $0.name.map(call.covers) ?? true }
        return Answer(200, PausesAnswer(paused: found.map(\.answer)), warnings: [], hints: hints)
    }
}
