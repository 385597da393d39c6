import Answers
import LiveActivity
import StrictJSON

/// The console at `/console`: pages for publishers and operators, made by the gateway. Each page shows its data without
/// a script; the script adds live numbers.
public final class Console: Sendable {
    /// The largest form, in bytes. A push is 5 KiB at most; an audience may be longer.
    public static let mostFormBytes = 256 << 10
    /// The largest form that signs in. Everybody can send it.
    public static let mostSignInBytes = 4 << 10

    let gateway: ConsoleGateway
    let live: LiveFeed
    let templates = Templates.all
    /// How long a publish can be taken back.
    let undo: Duration

    public init(_ gateway: ConsoleGateway, undo: Duration) {
        self.gateway = gateway
        self.undo = undo
        // The feed uses the clock of the pages.
        live = LiveFeed(clock: gateway.now)
    }

    public static func serves(_ path: Substring) -> Bool { path == "/console" || path.hasPrefix("/console/") }

    /// Whether the path is served without a session.
    public static func isOpen(_ path: String) -> Bool {
        path == "/console/sign-in" || path.hasPrefix("/console/assets/")
    }

    /// - Parameters:
    ///   - session: of the request; nil: nobody is signed in
    ///   - body: of a POST
    public func respond(
        to request: ConsoleRequest, session: ConsoleSession?, body: [UInt8] = []
    ) async -> ConsoleResponse {
        do {
            return try await answer(request, session, try Form(body)).under(session?.base)
        } catch {
            return failed(error, request, session).under(session?.base)
        }
    }

    /// A page that says what went wrong. Texts of the API name no secret and no token.
    public func failed(_ error: any Error, _ request: ConsoleRequest, _ session: ConsoleSession?) -> ConsoleResponse {
        refusal(failure(error), request, session)
    }

    private func failure(_ error: any Error) -> ConsoleFailure {
        if let error = error as? ConsoleFailure { return error }
        let (status, message) = gateway.problem(error) ?? (500, "An internal error occurred.")
        return ConsoleFailure(status, message)
    }

    public func refuse(
        _ status: Int, _ message: String, _ request: ConsoleRequest, _ session: ConsoleSession?
    ) -> ConsoleResponse { refusal(ConsoleFailure(status, message), request, session) }

    private func refusal(
        _ failure: ConsoleFailure, _ request: ConsoleRequest, _ session: ConsoleSession?,
        _ statusStrip: StatusStrip = StatusStrip()
    ) -> ConsoleResponse {
        // A page of a Redis that is away comes by itself once Redis is back.
        let again = failure.status == 503 && request.method == "GET" ? Self.secondsToTryAgain : nil
        let page = render(
            "message",
            values([
                "title": failure.title, "message": failure.message, "path": failure.path, "again": again,
                "isAlone": session == nil ? true : nil, "back": request.from,
            ]), title: failure.title, session: session, statusStrip: statusStrip, request, status: failure.status)
        return failure.status == 405 ? page.with("Allow", "GET, HEAD, POST") : page
    }

    private func answer(
        _ request: ConsoleRequest, _ session: ConsoleSession?, _ form: Form
    ) async throws -> ConsoleResponse {
        let path = request.path
        if path.hasPrefix("/console/assets/") { return try asset(request) }
        let isRead = request.method == "GET" || request.method == "HEAD"
        guard isRead || request.method == "POST" else { throw ConsoleFailure(405, "This page takes GET and POST.") }
        if path == "/console/sign-in" {
            if !isRead { return try await signIn(request, form).on("/console/sign-in") }
            let query = Form(request.query)
            if let session, !query.has("another"), isSignedIn(session, for: query["next"]) {
                return .redirect(Self.next(query["next"])).on("/console/sign-in")
            }
            return signInPage(request).on("/console/sign-in")
        }
        if let page = gateway.ways.lazy.compactMap({ $0.pages[path] }).first {
            return try await page(self, request, session).on(path)
        }
        guard let session else {
            if isRead { return unknown(request) }
            // The draft is kept, and the browser keeps the newer fields.
            if let draft = Form(request.query).text("draft"), Draft.isID(draft),
                ["/console/compose", "/console/compose/publish"].contains(path)
            {
                let next = ConsoleRequest.address(Draft(id: draft).path(), under: request.base)
                return .redirect("/console/sign-in" + Form.query(["next": next])).on(path)
            }
            // The form's text is lost otherwise, so say why.
            throw ConsoleFailure(401, "You are signed out. Sign in again in another tab, then send the form again.")
        }
        guard let (route, parameters) = Route.find(request.method, path) else {
            throw ConsoleFailure(404, "There is no such page.")
        }
        guard isRead || !request.isForeign && session.accepts(form["csrf"]) else {
            throw ConsoleFailure(403, "The form is not of this session. Load the page again, then send it again.")
        }
        // Home alone shows the queue.
        let statusStrip =
            route.isPart ? StatusStrip() : StatusStrip(await gateway.state(session.identity, path == "/console"))
        let visit = Visit(
            console: self, request: request, session: session, statusStrip: statusStrip, parameters: parameters,
            query: Form(request.query), form: form)
        do {
            if let refusal = session.identity.refusal(route.scope, forAllNames: route.forAllNames) { throw refusal }
            return try await route.handle(visit).on(route.pattern)
        } catch {
            let failure = failure(error)
            if let page = await refused(failure, visit) { return page.on(route.pattern) }
            return refusal(failure, request, session, statusStrip).on(route.pattern)
        }
    }

    /// The page from which a form came, with the refusal above it. Nil: nobody knows the page, or it shows nothing now.
    private func refused(_ failure: ConsoleFailure, _ visit: Visit) async -> ConsoleResponse? {
        guard visit.request.method == "POST", (400..<500).contains(failure.status), let from = visit.request.from else {
            return nil
        }
        let parts = from.split(separator: "?", maxSplits: 1).map(String.init)
        guard let (route, parameters) = Route.find("GET", parts[0]), !route.isPart,
            visit.session.identity.refusal(route.scope, forAllNames: route.forAllNames) == nil
        else { return nil }
        var request = visit.request
        (request.method, request.path, request.query) = ("GET", parts[0], parts.count > 1 ? parts[1] : "")
        let page = Visit(
            console: self, request: request, session: visit.session, statusStrip: visit.statusStrip,
            parameters: parameters, query: Form(request.query), form: Form(), refusal: failure)
        guard let shown = try? await route.handle(page), shown.status == 200 else { return nil }
        return shown.with(status: failure.status)
    }

    /// The request has no session. Maybe the browser did not send the cookie, because the click was in a chat or a mail
    /// (`SameSite=Strict`). A page that loads itself again is sent with it.
    private func unknown(_ request: ConsoleRequest) -> ConsoleResponse {
        let path = ConsoleRequest.address(request.path, under: request.base)
        let target = path + (request.query.isEmpty ? "" : "?\(request.query)")
        if request.fetchSite == "cross-site" {
            return render("message", ["reload": Self.next(target)], title: "One moment", session: nil, request)
        }
        return .redirect("/console/sign-in" + Form.query(["next": Self.next(target)]))
    }

    /// Whether the browser has a session for that page. A sign-in to another app adds a session.
    private func isSignedIn(_ session: ConsoleSession, for next: String) -> Bool {
        guard let app = ConsoleRequest.parts(of: next).app else { return true }
        return ([session] + session.others).contains { $0.identity.app.rawValue == app }
    }

    private func asset(_ request: ConsoleRequest) throws -> ConsoleResponse {
        guard let asset = Asset.all.first(where: { request.path == "/console/assets/\($0.name)" }) else {
            throw ConsoleFailure(404, "There is no such file.")
        }
        return .asset(asset).on("/console/assets/{file}")
    }

    private static let secondsToTryAgain = 5

    /// - Parameter refusal: a sentence above the page, about a form that was sent from it
    func render(
        _ template: String, _ content: Values, title: String, session: ConsoleSession?,
        statusStrip: StatusStrip = StatusStrip(), _ request: ConsoleRequest, status: Int = 200, refusal: String? = nil
    ) -> ConsoleResponse {
        var content = content
        if let session {
            content["csrf"] = session.formToken
            for (key, may) in Self.rights(session.identity) where may { content[key] = true }
        }
        content["icon"] = Asset.icon.path
        let area = Navigation.area(of: request.path)
        let notice = Notice.of(Form(request.query)["notice"])?.text
        let frame = values([
            "title": title, "content": templates.render(template, content), "app": session?.identity.app.rawValue,
            "credential": session?.identity.credential, "credentialID": session?.identity.holder,
            "limits": session?.identity.limits,
            "apps": session.map { session in
                session.others.map { other in
                    let name = other.identity.app.rawValue
                    return ["name": name, "place": ConsoleRequest.base(name)] as Values
                }
            }, "hasOthers": session?.others.isEmpty == false ? true : nil,
            "csrf": session?.formToken, "now": "\(request.now)",
            "navigation": session.map { Navigation.items(current: area, for: $0.identity, statusStrip) },
            // Home has all of it in its live part.
            "strip": session.map { session in
                request.path == "/console"
                    ? [:] : statusStrip.strip(now: request.now, isShort: true)
            }, "isHome": request.path == "/console" ? true : nil, "style": Asset.style.path,
            "script": Asset.script.path, "icon": Asset.icon.path, "notice": session == nil ? nil : notice,
            "reload": content["reload"], "again": content["again"], "problem": refusal,
        ])
        return .page(templates.render("page", frame), status: status)
    }

    /// For templates: which buttons a page shows. The API checks each call again.
    private static func rights(_ identity: ConsoleIdentity) -> KeyValuePairs<String, Bool> {
        [
            "mayPublish": identity.scopes.opens(.publish), "mayOperate": identity.scopes.contains(.operate),
            "mayTrack": identity.scopes.contains(.track), "forAllNames": identity.namePrefix == nil,
        ]
    }
}

/// A feature's page in the menu. It follows the core's pages of its group.
struct MenuEntry: Sendable {
    enum Group: CaseIterable { case published, reach, trouble, app }

    var group: Group
    var path: String
    var title: String
    /// The entries that wait for the reader on the page: the badge of the menu entry, and lines of the strip.
    var waiting: [StripLine] = []
    /// How the part does that the page is about.
    var lamp: Lamp.Finder?
}

/// The pages that every page links to.
enum Navigation {
    /// The menu's entries in groups: publishing, audience, faults, and settings of the app. Features' pages follow the
    /// core's pages.
    private static let groups: [[(path: String, title: String)]] = MenuEntry.Group.allCases.map { group in
        ofCore(group) + MenuEntry.ofFeatures.filter { $0.group == group }.map { ($0.path, $0.title) }
    }

    private static func ofCore(_ group: MenuEntry.Group) -> [(path: String, title: String)] {
        switch group {
        case .published: [("/console", "Home"), ("/console/compose", "Compose"), ("/console/pushes", "Pushes")]
        case .reach:
            [
                ("/console/names", "Names"), ("/console/devices", "Devices"), ("/console/schedules", "Schedules"),
                ("/console/broadcasts", "Broadcasts"),
            ]
        case .trouble:
            [
                ("/console/alarms", "Alarms"), ("/console/dead", "Dead letters"),
                ("/console/quarantine", "Quarantine"), ("/console/actions", "Action log"),
            ]
        case .app:
            [
                ("/console/credentials", "Credentials"), ("/console/schemas", "Schemas"),
                ("/console/settings", "Settings"),
            ]
        }
    }

    /// The page of `groups` that the path belongs to.
    static func area(of path: String) -> String {
        let parts = path.split(separator: "/")
        return parts.count < 2 ? "/console" : "/console/\(parts[1])"
    }

    /// Pages that the credential may not open are left out.
    static func items(current: String, for identity: ConsoleIdentity, _ statusStrip: StatusStrip) -> [Values] {
        groups.enumerated().flatMap { position, group in
            group.filter { identity.mayOpen($0.path) }.enumerated().map { index, page in
                let badge = statusStrip.badge(page.path)
                return values([
                    "path": page.path, "title": page.title, "current": page.path == current ? true : nil,
                    "badge": badge > 0 ? Shown.count(badge) : nil, "begins": position > 0 && index == 0 ? true : nil,
                ])
            }
        }
    }
}
