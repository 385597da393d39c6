import LiveActivity

extension Visit {
    /// Answers a stream of events for a part of a page.
    func watch(
        _ part: String, every pause: Int = 1, look: @escaping @Sendable (Visit) async throws -> LiveFeed.Look
    ) async throws -> ConsoleResponse {
        let visit = self
        let events = await console.live.open(
            LiveFeed.Topic(identity: session.identity, base: session.base, part: part),
            of: .init(app: session.identity.app.rawValue, session: session.id), every: pause,
            isStanding: {
                do {
                    return try await visit.console.session(of: visit.request)?.id == visit.session.id
                } catch {
                    // Without Redis nobody knows, so the tab stays.
                    return true
                }
            },
            look: {
                let now = visit.console.gateway.now()
                let standing = try? await visit.console.gateway.standing(visit.session.identity, now)
                guard let identity = standing ?? nil else { return .unknown }
                return ((try? await look(visit.at(now, identity))) ?? .unknown).under(visit.session.base)
            })
        guard let events else { throw ConsoleFailure(429, "Too many tabs of the console are open.") }
        return .events(events)
    }

    private func at(_ now: Int64, _ identity: ConsoleIdentity) -> Visit {
        var (request, session) = (request, session)
        request.now = now
        session.identity = identity
        return Visit(
            console: console, request: request, session: session, statusStrip: statusStrip, parameters: parameters,
            query: query, form: form)
    }
}

extension LiveFeed.Look {
    /// The same look for tabs whose addresses begin otherwise.
    fileprivate func under(_ base: String) -> LiveFeed.Look {
        guard base != "/console" else { return self }
        func moved(_ text: String) -> String {
            String(decoding: ConsoleResponse.moved(Array(text.utf8), to: base), as: UTF8.self)
        }
        return switch self {
        case .html(let text): .html(moved(text))
        case .last(let text): .last(moved(text))
        case .unknown: .unknown
        }
    }
}
