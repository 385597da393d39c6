import LiveActivity
import Store

extension Handlers {
    /// Whether a credential has the right to a call, as far as its path tells. Handlers look at names in bodies.
    /// - Throws: 403; 404 for a push or a schedule of a name that the credential is not for.
    func check(
        _ grant: Grant, _ endpoint: Endpoint, _ parameters: [String: String], _ app: AppKey
    ) async throws {
        guard let scope = endpoint.scope, grant.scopes.contains(scope) else {
            throw APIError.missingScope(grant, endpoint.scope)
        }
        guard grant.namePrefix != nil else { return }
        if let text = parameters["name"] {
            // A text that is no name gets its 400 from the handler.
            if let name = try? ActivityName(text), !grant.covers(name) { throw APIError.otherNames(grant) }
        } else if let text = parameters["push_id"] ?? parameters["schedule_id"] {
            guard let id = PushID(text) else { return }
            var name = try await ledger(app, id)?.name
            // The push of a sent schedule may be forgotten before the schedule is.
            if name == nil { name = try await store.schedules.find(app, id)?.publish.name }
            guard let name, grant.covers(name) else {
                throw parameters["push_id"] == nil ? APIError.noSuchSchedule : APIError.noSuchPush
            }
        } else if !endpoint.checksNames {
            throw APIError.otherNames(grant)
        }
    }
}

extension Call {
    func may(_ right: DeviceRight) -> Bool { !credential.isFromApp || app.deviceRights.contains(right) }

    func require(_ right: DeviceRight) throws(APIError) {
        if !may(right) { throw APIError(403, "This was not done: \(right.refusal).", code: 40303) }
    }
}
