import Answers
import LiveActivity

extension SignInWay {
    /// The way through a provider of OpenID Connect.
    public static func openID(
        _ provider: @escaping @Sendable () -> ConsoleProvider?,
        standing: @escaping @Sendable (ConsoleIdentity, _ now: Int64) -> ConsoleIdentity?
    ) -> SignInWay {
        SignInWay(
            pages: [
                Console.providerPath: { console, request, _ in
                    try await console.beginAtProvider(request, provider())
                },
                Console.returnPath: { console, request, session in
                    try await console.returnFromProvider(request, session, provider())
                },
            ],
            link: { app, next in provider().map { ($0.name, Console.pathToProvider(app, next: next)) } },
            standing: standing)
    }
}

/// Signing in through a provider of OpenID Connect: to its page, and back with a code.
extension Console {
    static let providerPath = "/console/sign-in/provider"
    static let returnPath = "/console/sign-in/return"
    /// Sign-ins that one network may begin and not end, until `attemptSpan` is over. Each is a record in Redis.
    static let mostBegun = 100
    private static let mostShownGroups = 20
    /// A name of DNS and a port. The address to come back to is kept with each sign-in.
    private static let mostBytesOfHost = 260
    /// The parameter in the address that the return page loads again.
    private static let again = "again"

    fileprivate static func pathToProvider(_ app: String?, next: String) -> String {
        providerPath + Form.query(["app": app, "next": next])
    }

    /// A link and not a form: `form-action 'self'` would keep the browser from the provider.
    fileprivate func beginAtProvider(
        _ request: ConsoleRequest, _ provider: ConsoleProvider?
    ) async throws -> ConsoleResponse {
        guard let provider, request.method == "GET" else {
            throw ConsoleFailure(404, "There is no such page.")
        }
        // A page of another site must not end the session that is open here.
        if request.isForeign { return .redirect("/console/sign-in") }
        let begun = try await gateway.records.attempt(Self.begun(request), span: Self.attemptSpan)
        guard begun.count <= Self.mostBegun else {
            let wait = "Too many sign-ins were begun. Try again in \(Shown.duration(Int64(begun.left)))."
            return signInPage(request, problem: wait, status: 429)
                .with("Retry-After", "\(max(1, begun.left / 1_000))")
        }
        let query = Form(request.query)
        guard request.host.utf8.count <= Self.mostBytesOfHost else {
            throw ConsoleFailure(400, "The Host is longer than \(Self.mostBytesOfHost) bytes.")
        }
        let app = query.text("app").flatMap { AppKey.isKey($0) ? $0 : nil }
        let address = "\(request.isSecure ? "https" : "http")://\(request.host)\(Self.returnPath)"
        let attempt = SignInAttempt(app: app, next: Self.next(query["next"]), returnAddress: address)
        do {
            let page = try await provider.address(attempt, request.network)
            return try await lead(to: page, attempt, request, provider)
        } catch let error as ProviderFailure {
            return failed(error, request, next: attempt.next)
        }
    }

    private func lead(
        to page: String, _ attempt: SignInAttempt, _ request: ConsoleRequest, _ provider: ConsoleProvider
    ) async throws -> ConsoleResponse {
        // The text in the cookie is always a new one: a browser may have one that somebody planted.
        let browser = ConsoleSession.random()
        try await keep(attempt, browser, provider)
        let cookie = SignInAttempt.cookie(browser, of: attempt.state, isSecure: request.isSecure)
        return (SignInAttempt.makingRoom(request) + [cookie]).reduce(.redirect(page)) { $0.with("Set-Cookie", $1) }
    }

    /// - Parameter session: the present session
    fileprivate func returnFromProvider(
        _ request: ConsoleRequest, _ session: ConsoleSession?, _ provider: ConsoleProvider?
    ) async throws -> ConsoleResponse {
        guard let provider, request.method == "GET" else {
            throw ConsoleFailure(404, "There is no such page.")
        }
        let query = Form(request.query)
        // The browser comes from another site, so it sends no `Strict` cookie. This page sends all that there are now:
        // the browser may have signed in to another app meanwhile.
        guard query.has(Self.again) else {
            let address = "\(Self.returnPath)?\(request.query)&\(Self.again)=yes"
            return render("message", ["reload": address], title: "One moment", session: nil, request)
        }
        let state = query["state"]
        let browser = request.cookie(SignInAttempt.cookieName(of: state, isSecure: request.isSecure)) ?? ""
        guard SignInAttempt.isText(state), SignInAttempt.isText(browser),
            let record = try await provider.take(SignInAttempt.name(browser: browser, state: state)),
            let attempt = SignInAttempt(state: state, record)
        else {
            // A person who goes back, or whose browser opens its tabs again, is signed in already.
            if session != nil { return .redirect("/console") }
            let problem =
                "This sign-in was not begun in this browser, was used already, or took longer than 10 minutes. Begin again."
            return failed(ProviderFailure(401, problem, reason: "no sign-in with this state"), request)
        }
        let answer = try await finish(attempt, browser, query, request, provider)
        if answer.status == 503 { return answer }
        return answer.with("Set-Cookie", SignInAttempt.cookie(nil, of: state, isSecure: request.isSecure))
    }

    private func finish(
        _ attempt: SignInAttempt, _ browser: String, _ query: Form, _ request: ConsoleRequest,
        _ provider: ConsoleProvider
    ) async throws -> ConsoleResponse {
        do {
            // RFC 9207: another provider's answer.
            guard query.text("iss").map({ $0 == provider.issuer }) ?? true else {
                throw ProviderFailure(401, "The answer is of another provider.", reason: "iss of another provider")
            }
            if query.has("error") { throw Self.refused(query["error"], provider) }
            guard let code = query.text("code"), code.utf8.count <= 4_096 else {
                throw ProviderFailure(401, "\(provider.name) sent no code.", reason: "no code")
            }
            let visitor = try await provider.redeem(code, attempt, request.network, request.now)
            return try await admit(visitor, attempt, provider, request)
        } catch let error as ProviderFailure {
            // Too many others ask the provider now. The code was not used, so the page can be loaded again.
            if error.status == 503 { try await keep(attempt, browser, provider) }
            return failed(error, request, next: attempt.next)
        }
    }

    private func keep(_ attempt: SignInAttempt, _ browser: String, _ provider: ConsoleProvider) async throws {
        let name = SignInAttempt.name(browser: browser, state: attempt.state)
        try await provider.keep(name, attempt.record, SignInAttempt.life)
    }

    private static func refused(_ error: String, _ provider: ConsoleProvider) -> ProviderFailure {
        // The error's text comes in the address, so no other word is shown.
        let known = [
            "access_denied", "consent_required", "interaction_required", "invalid_request", "invalid_scope",
            "login_required", "server_error", "temporarily_unavailable", "unauthorized_client",
        ]
        let word = known.contains(error) ? error : "another error"
        return ProviderFailure(
            403, "\(provider.name) did not let you sign in: \(word).", reason: "the provider's page answered \(word)")
    }

    private func admit(
        _ visitor: ConsoleProvider.Visitor, _ attempt: SignInAttempt, _ provider: ConsoleProvider,
        _ request: ConsoleRequest
    ) async throws -> ConsoleResponse {
        let person = visitor.person
        let apps = visitor.apps.filter { attempt.app.map($0.rawValue.elementsEqual) ?? true }
        guard let app = apps.first else {
            return failed(Self.nobodysGroups(visitor, attempt.app), request, next: attempt.next, who: person.name)
        }
        guard apps.count == 1 else {
            let choices = apps.map { ($0.rawValue, Self.pathToProvider($0.rawValue, next: attempt.next)) }
            return signInPage(request, next: attempt.next, choices: choices).about(who: person.name)
        }
        let wanted = ConsoleIdentity(
            app: app, credentialID: ConsolePerson.credentialID, proof: provider.proof, person: person)
        guard let identity = try await gateway.standing(wanted, request.now), identity.scopes.contains(.read) else {
            let problem = "The \(wanted.credential) lacks the scope read, which the console needs."
            let failure = ProviderFailure(403, problem, reason: "the groups lack the scope read")
            return failed(failure, request, next: attempt.next, who: person.name)
        }
        try await gateway.records.succeed(Self.begun(request), span: Self.attemptSpan)
        let (next, cookie) = try await enter(identity, request, next: attempt.next, life: provider.life)
        return .redirect(next).with("Set-Cookie", cookie).about(who: person.name)
    }

    private static func nobodysGroups(_ visitor: ConsoleProvider.Visitor, _ app: String?) -> ProviderFailure {
        let shown = visitor.groups.prefix(mostShownGroups).map { "“\($0)”" }.joined(separator: ", ")
        let more = visitor.groups.count > mostShownGroups ? " and \(visitor.groups.count - mostShownGroups) more" : ""
        let groups =
            visitor.groups.isEmpty ? "The provider named no group of yours." : "Your groups are \(shown)\(more)."
        let place = app.map { "to the app \($0)" } ?? "to this console"
        return ProviderFailure(
            403, "Nobody gave \(visitor.person.name) access \(place). \(groups)", reason: "no group has rights")
    }

    private func failed(
        _ failure: ProviderFailure, _ request: ConsoleRequest, next: String? = nil, who: String? = nil
    ) -> ConsoleResponse {
        signInPage(request, problem: failure.message, status: failure.status, next: next)
            .about(who: who, reason: failure.reason)
    }

    private static func begun(_ request: ConsoleRequest) -> String { "provider \(request.network)" }
}
