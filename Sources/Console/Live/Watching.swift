import Store

extension Visit {
    /// Answers a stream of events for a part of a page.
    func watch(_ topic: String, look: @escaping @Sendable (Visit) async throws -> LiveFeed.Look) async throws
        -> ConsoleResponse
    {
        let visit = self
        let events = await console.live.open(
            "\(session.identity.app) \(session.identity.proof) \(topic)",
            isStanding: {
                // Without Redis nobody knows, so the tab stays.
                guard let found = try? await visit.console.session(of: visit.request) else {
                    return (try? await visit.console.store.ping()) == nil
                }
                return found.id == visit.session.id
            },
            look: {
                guard await visit.console.gateway.stands(visit.session.identity) else { return .unknown }
                return (try? await look(visit.at(visit.console.store.time.now()))) ?? .unknown
            })
        guard let events else { throw ConsoleFailure(503, "Too many tabs of the console are open.") }
        return .events(events)
    }

    private func at(_ now: Int64) -> Visit {
        var request = request
        request.now = now
        return Visit(
            console: console, request: request, session: session, parameters: parameters, query: query, form: form)
    }
}
