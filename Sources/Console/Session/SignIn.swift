import Answers
import LiveActivity

/// Signing in and out, and the limit of guesses.
extension Console {
    /// Sign-ins that one network may try for one app key, and for all, until `attemptSpan` is over.
    static let mostAttempts = 10
    static let mostAttemptsOfNetwork = 30
    static let attemptSpan: Duration = .seconds(600)

    func signInPage(
        _ request: ConsoleRequest, problem: String? = nil, status: Int = 200, key: String = "", next: String? = nil,
        choices: [(name: String, path: String)] = []
    ) -> ConsoleResponse {
        // A link of an app's page asks for that app.
        let next = Self.next(next ?? Form(request.query)["next"])
        let asked = ConsoleRequest.parts(of: next).app
        func buttons(_ links: [(name: String, path: String)]) -> [Values] {
            links.map { ["name": $0.name, "path": $0.path] }
        }
        let values = values([
            "problem": problem, "key": key.isEmpty ? asked ?? "" : key, "next": next,
            "ways": buttons(gateway.ways.compactMap { $0.link(asked, next) }),
            "choice": choices.isEmpty ? nil : ["apps": buttons(choices)] as Values,
            "insecure": request.isSecure || request.isLocal ? nil : true,
        ])
        return render("sign-in", values, title: "Sign in", session: nil, request, status: status)
    }

    func signIn(_ request: ConsoleRequest, _ form: Form) async throws -> ConsoleResponse {
        let key = form.text("app_key") ?? ""
        if request.isForeign {
            return signInPage(request, problem: "The form came from another site. Sign in here.", status: 403)
        }
        let network = request.network
        // The network first: once it has its limit, app keys that a stranger invents are not stored.
        let subjects = [(network, Self.mostAttemptsOfNetwork), ("\(network) \(key)", Self.mostAttempts)]
        for (subject, most) in subjects {
            let attempts = try await gateway.records.attempt(subject, span: Self.attemptSpan)
            guard attempts.count > most else { continue }
            // One browser that repeats a wrong secret must not use up what its network has for others.
            if subject != network { try await gateway.records.succeed(network, span: Self.attemptSpan) }
            let seconds = max(1, attempts.left / 1_000)
            let wait = "Too many sign-ins failed. Try again in \(Shown.duration(Int64(attempts.left)))."
            return signInPage(request, problem: wait, status: 429, key: key, next: form["next"])
                .with("Retry-After", "\(seconds)")
        }
        var found: ConsoleIdentity?
        var problem = "App key and secret do not belong together."
        do {
            found = try await gateway.signIn(key, form["secret"], request.now)
        } catch let ended as EndedSecret {
            problem = ended.message
        }
        guard let identity = found else {
            return signInPage(request, problem: problem, status: 401, key: key, next: form["next"])
        }
        for (subject, _) in subjects { try await gateway.records.succeed(subject, span: Self.attemptSpan) }
        guard identity.scopes.contains(.read) else {
            let problem = "The \(identity.credential) lacks the scope read, which the console needs."
            return signInPage(request, problem: problem, status: 403, key: key, next: form["next"])
        }
        let (next, cookie) = try await enter(identity, request, next: form["next"])
        return .redirect(next).with("Set-Cookie", cookie)
    }

    /// Begins a session beside the browser's others.
    /// - Returns: the page to open, and the header `Set-Cookie`
    func enter(
        _ identity: ConsoleIdentity, _ request: ConsoleRequest, next: String, life: Duration = ConsoleSession.life
    ) async throws -> (next: String, cookie: String) {
        let session = ConsoleSession(identity)
        try await gateway.records.begin(session.id, session.record, life: life)
        let kept = try await join(session, request)
        var next = Self.next(next)
        if kept.first != session.id, ConsoleRequest.parts(of: next).app == nil {
            next = ConsoleRequest.address(next, under: ConsoleRequest.base(identity.app.rawValue))
        }
        let longest = kept.count == 1 ? life : max(life, ConsoleSession.life)
        return (next, ConsoleSession.cookie(kept, life: longest, isSecure: request.isSecure))
    }

    /// The ids of the browser's sessions with a new one. A session of the same app ends, because it may be another
    /// person's. The sessions of other apps keep their places, so that the addresses of their pages stay. The new
    /// session takes the first place if no session stands there any more.
    private func join(_ new: ConsoleSession, _ request: ConsoleRequest) async throws -> [String] {
        let before = try await sessions(of: request)
        for old in before where old.identity.app == new.identity.app { try await gateway.records.end(old.id) }
        var ids = before.map { $0.identity.app == new.identity.app ? new.id : $0.id }
        if !ids.contains(new.id) {
            ids.insert(new.id, at: before.first?.id == request.sessions.first ? ids.endIndex : 0)
        }
        while ids.count > ConsoleRequest.mostSessions {
            try await gateway.records.end(ids.remove(at: 1))
        }
        return ids
    }

    /// Ends every session of the browser: its next reader may be somebody else.
    func signOut(_ request: ConsoleRequest, _ session: ConsoleSession) async throws -> ConsoleResponse {
        for id in [session.id] + session.others.map(\.id) { try await gateway.records.end(id) }
        return .redirect("/console/sign-in").with(
            "Set-Cookie", ConsoleSession.cookie([], isSecure: request.isSecure))
    }

    /// The session that the request belongs to, if it is still valid: the session of the app in the path, or else the
    /// browser's first session.
    public func session(of request: ConsoleRequest) async throws -> ConsoleSession? {
        let all = try await sessions(of: request)
        let first = request.sessions.first
        guard
            var session = all.first(where: { found in
                request.app.map { $0 == found.identity.app.rawValue } ?? (found.id == first)
            })
        else { return nil }
        session.others = all.filter { $0.id != session.id }
        return session
    }

    /// The browser's sessions that stand. One look at Redis for each.
    private func sessions(of request: ConsoleRequest) async throws -> [ConsoleSession] {
        var standing: [ConsoleSession] = []
        for (position, id) in request.sessions.enumerated() where id.utf8.count == 64 {
            guard let record = try await gateway.records.session(id, life: ConsoleSession.life),
                var session = ConsoleSession(id: id, record),
                let identity = try await gateway.standing(session.identity, request.now),
                identity.scopes.contains(.read), !standing.contains(where: { $0.identity.app == identity.app })
            else { continue }
            session.identity = identity
            if position > 0 { session.base = ConsoleRequest.base(identity.app.rawValue) }
            standing.append(session)
        }
        return standing
    }

    /// A page of the console and nothing else, so that a link cannot lead to another site.
    static func next(_ text: String) -> String {
        let isPath = text == "/console" || text.hasPrefix("/console/") || text.hasPrefix("/console?")
        let isPlain = text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") }
        // Browsers resolve `..`, and some proxies fold `//`, to a path outside of the console.
        let path = text.prefix { $0 != "?" && $0 != "#" }.lowercased().replacing("%2e", with: ".")
        let leaves = path.contains("//") || path.split(separator: "/").contains { $0 == ".." || $0 == "." }
        return isPath && isPlain && !leaves && !text.hasPrefix("/console/sign-") ? text : "/console"
    }
}

extension ConsoleRequest {
    /// A browser treats this machine as safe without TLS.
    var isLocal: Bool { Self.isLocal(host[...]) }

    /// Whether a host, with its port or without, is this machine.
    package static func isLocal(_ authority: Substring) -> Bool {
        ["localhost", "127.0.0.1", "[::1]"].contains { authority == $0 || authority.hasPrefix("\($0):") }
    }
}
