import LiveActivity
import Store

extension Visit {
    /// Answers a stream of events for a part of a page.
    func watch(
        _ topic: String, every pause: Int = 1, look: @escaping @Sendable (Visit) async throws -> LiveFeed.Look
    ) async throws -> ConsoleResponse {
        let visit = self
        let events = await console.live.open(
            "\(session.identity.app) \(session.identity.proof) \(topic)",
            of: .init(app: session.identity.app.rawValue, session: session.id), every: pause,
            isStanding: {
                // Without Redis nobody knows, so the tab stays.
                guard let found = try? await visit.console.session(of: visit.request) else {
                    return (try? await visit.console.store.ping()) == nil
                }
                return found.id == visit.session.id
            },
            look: {
                let now = visit.console.store.time.now()
                let standing = try? await visit.console.gateway.standing(visit.session.identity, now)
                guard let identity = standing ?? nil else { return .unknown }
                return (try? await look(visit.at(now, identity))) ?? .unknown
            })
        guard let events else { throw ConsoleFailure(503, "Too many tabs of the console are open.") }
        return .events(events)
    }

    private func at(_ now: Int64, _ identity: ConsoleIdentity) -> Visit {
        var (request, session) = (request, session)
        request.now = now
        session.identity = identity
        return Visit(
            console: console, request: request, session: session, standing: standing, parameters: parameters,
            query: query, form: form)
    }
}
