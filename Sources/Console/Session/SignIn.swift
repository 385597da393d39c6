import LiveActivity
import Store

/// Signing in and out, and the limit of guesses.
extension Console {
    /// Sign-ins that one network may try for one app key, and for all, until `attemptSpan` is over.
    static let mostAttempts = 10
    static let mostAttemptsOfNetwork = 30
    static let attemptSpan: Duration = .seconds(600)

    func signInPage(
        _ request: ConsoleRequest, problem: String? = nil, status: Int = 200, key: String = "", next: String? = nil,
        apps: [AppKey] = []
    ) -> ConsoleResponse {
        let next = Self.next(next ?? Form(request.query)["next"])
        let provider = gateway.provider().map { provider in
            ["name": provider.name, "path": Self.providerPath + Form.query(["next": next])] as Values
        }
        let choices = apps.map { app in
            let path = Self.providerPath + Form.query(["app": app.rawValue, "next": next])
            return ["name": app.rawValue, "path": path] as Values
        }
        let values = values([
            "problem": problem, "key": key, "next": next, "provider": provider,
            "choice": choices.isEmpty ? nil : ["apps": choices] as Values,
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
            let attempts = try await store.console.attempt(subject, span: Self.attemptSpan)
            guard attempts.count > most else { continue }
            // One browser that repeats a wrong secret must not use up what its network has for others.
            if subject != network { try await store.console.succeed(network, span: Self.attemptSpan) }
            let seconds = max(1, attempts.left / 1_000)
            let wait = "Too many sign-ins failed. Try again in \(Shown.duration(Int64(attempts.left)))."
            return signInPage(request, problem: wait, status: 429, key: key, next: form["next"])
                .with("Retry-After", "\(seconds)")
        }
        guard let identity = try await gateway.signIn(key, form["secret"], request.now) else {
            return signInPage(
                request, problem: "App key and secret do not belong together.", status: 401, key: key,
                next: form["next"])
        }
        for (subject, _) in subjects { try await store.console.succeed(subject, span: Self.attemptSpan) }
        guard identity.scopes.contains(.read) else {
            let problem = "The \(identity.credential) lacks the scope read, which the console needs."
            return signInPage(request, problem: problem, status: 403, key: key, next: form["next"])
        }
        // A session that the browser had before ends: it may be somebody else's.
        if let old = request.session { try await store.console.end(old) }
        let session = ConsoleSession(identity)
        try await store.console.begin(session.id, session.record, life: ConsoleSession.life)
        return .redirect(Self.next(form["next"])).with(
            "Set-Cookie", ConsoleSession.cookie(session, isSecure: request.isSecure))
    }

    func signOut(_ request: ConsoleRequest, _ session: ConsoleSession) async throws -> ConsoleResponse {
        try await store.console.end(session.id)
        return .redirect("/console/sign-in").with(
            "Set-Cookie", ConsoleSession.cookie(nil, isSecure: request.isSecure))
    }

    /// The session that the request belongs to, if it stands. One look at Redis.
    public func session(of request: ConsoleRequest) async throws -> ConsoleSession? {
        guard let id = request.session, id.utf8.count == 64,
            let record = try await store.console.session(id, life: ConsoleSession.life),
            var session = ConsoleSession(id: id, record),
            let identity = try await gateway.standing(session.identity, request.now), identity.scopes.contains(.read)
        else { return nil }
        session.identity = identity
        return session
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
    var isLocal: Bool { ["localhost", "127.0.0.1", "[::1]"].contains { host == $0 || host.hasPrefix("\($0):") } }
}
