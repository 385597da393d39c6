import HTTPTypes
import Hummingbird
import LiveActivity
import Store

/// One question about a call before its handler runs. The lists are the order, for HTTP and for the console.
enum RequestCheck: Sendable, Hashable, CaseIterable {
    /// Whether proxies and the gateway read the request alike, so that no second request hides in it.
    case form
    /// The endpoint.
    case route
    /// The owner of the secret or token. Guesses are limited. From here on a right secret counts as a wrong one, if it
    /// comes from an address that is no server's. Otherwise the next answers would tell that it is right.
    case caller
    /// The rate of the address, for callers whom everybody can be.
    case addressRate
    /// The secret of `/readyz` and `/metrics`.
    case monitor
    /// Whether the endpoint takes this kind of caller. After this check the caller is known.
    case access
    case credentialRate
    /// The scope and the names of a credential.
    case rights
    case query
    /// Reads the body before the request counts as running: a slow body must not block other requests.
    case body
    /// Whether one more request may run.
    case capacity

    /// Each request passes these, to find its endpoint.
    static let ofAll: [Self] = [.form, .route]
    /// A call that needs no secret passes these next.
    static let ofOpenCalls: [Self] = [.addressRate, .monitor, .capacity]
    /// Every other call passes these next.
    static let ofCalls: [Self] = [
        .caller, .addressRate, .access, .credentialRate, .rights, .query, .body, .capacity,
    ]
    /// A call of the console passes these alone. Its page has passed checks of its own, and has a session.
    static let ofConsole: [Self] = [.route, .access, .rights, .query, .capacity]
}

/// A call on its way to its handler. Each check refuses it, or notes here what it has found out.
struct GuardedCall {
    /// A request of HTTP.
    struct Source {
        let responder: GatewayResponder
        let request: Request
        let body: IncomingBody
        let address: ClientAddress
        /// Whether it holds a secret. Tokens and signatures cannot be guessed.
        let isGuess: Bool
    }

    let served: GatewayResponder.Served
    let match: RouteMatch
    /// Still percent-encoded.
    let query: Substring
    /// Epoch milliseconds.
    let now: Int64
    /// The connection of the call. Nil: the console makes the call.
    private let source: Source?

    private var route: (endpoint: Endpoint, parameters: [String: String])?
    private var found: (app: Authenticator.App, credential: Credential)?
    /// The credential whose secret was right, and came from an address that is no server's. For the log.
    private var outsider: String?
    /// The caller, once it is known and may call from where it is.
    private(set) var publisher: Publisher?
    private(set) var values: [String: String] = [:]
    private var share: Capacity.Share?

    /// A request of HTTP.
    init(_ source: Source, _ match: RouteMatch, _ served: GatewayResponder.Served, now: Int64) {
        (self.source, self.match, self.served, self.now) = (source, match, served, now)
        query = source.request.target.query
    }

    /// A call of the console, whose session has this credential.
    init(
        _ match: RouteMatch, query: Substring, app: Authenticator.App?, _ credential: Credential,
        _ publisher: Publisher, _ served: GatewayResponder.Served, now: Int64
    ) {
        (self.match, self.query, self.served, self.now) = (match, query, served, now)
        source = nil
        found = app.map { ($0, credential) }
        self.publisher = publisher
    }

    var app: AppKey? { found?.app.app.key }

    func endpoint() throws(APIError) -> (endpoint: Endpoint, parameters: [String: String]) {
        if let route { return route }
        throw .internalError("no guard has found the endpoint")
    }

    func caller() throws(APIError) -> (app: Authenticator.App, credential: Credential) {
        if let found { return found }
        throw .internalError("no guard has found the caller")
    }

    /// Runs the handler of a call that passed its checks.
    /// - Parameters:
    ///   - origin: see `Call.origin`
    ///   - acted: the word of the log of actions; nil: the call's own word
    ///   - confirm: see `Call.confirm`
    func runHandler(
        _ operation: String, headers: HTTPFields, origin: String, _ body: IncomingBody, _ recorder: ActionRecorder,
        as acted: ActionKind? = nil, confirm: @escaping @Sendable () async throws -> Void = {}
    ) async throws -> Answer {
        let ((endpoint, parameters), (app, credential)) = (try endpoint(), try caller())
        guard case .call(let handle) = endpoint.handler, let publisher else { throw APIError.notFound }
        let call = Call(
            operation: operation, parameters: parameters, query: values, headers: headers, origin: origin,
            app: app.app, tokens: app.tokens, credential: credential, caller: publisher, body: body, now: now,
            confirm: confirm)
        let action = credential.isDevice ? nil : acted ?? endpoint.action
        let parts = credential.isFromApp ? served.partsOfApps : served.parts
        if let source, credential == .unproven {
            do { return try await handle(parts, call) } catch let error as APIError {
                if error.isFalseProof { source.responder.proofs.failed(source.address) }
                throw error
            }
        }
        return try await recorder.record(action, publisher, operation, parameters, of: app.app.key) {
            // A bulk call takes long, so it leaves the event loop, as a page does.
            endpoint.body == .streamed
                ? try await withTaskExecutorPreference(globalConcurrentExecutor) { try await handle(parts, call) }
                : try await handle(parts, call)
        }
    }

    /// Gives back what the call has taken of the gateway's capacity.
    func leave() { share?.giveBackAll() }

    /// Only a check that waits has an `await` of its own, because that costs as much as most checks do.
    mutating func pass(_ checks: [RequestCheck]) async throws {
        for next in checks {
            switch next {
            case .form: if let source { try source.responder.checkForm(source.request) }
            case .route:
                do throws(APIError) {
                    route = try match.get()
                } catch {
                    try await checkAddressRate()
                    throw error
                }
            case .caller: try await findCaller()
            case .addressRate: if try isCountedByAddress() { try await checkAddressRate() }
            case .monitor: try checkMonitor()
            case .access: try checkAccess()
            case .credentialRate: if try isCountedByCredential() { try await checkCredentialRate() }
            case .rights: if try needsNameOfPath() { try await checkNameOfPath() }
            case .query: try readQuery()
            case .body: try await readBody()
            case .capacity: try takeCapacity()
            }
        }
    }

    private mutating func findCaller() async throws {
        guard let source else { return }
        guard try endpoint().endpoint.access != .unproven else {
            if let seconds = source.responder.proofs.wait(source.address, "") {
                throw APIError.tooManyFalseProofs(seconds)
            }
            found = served.authenticator.unproven(source.request.headers).map { ($0.0, $0.1) }
            return
        }
        let headers = source.request.headers
        guard
            let (app, credential) = try await source.responder.authenticate(
                source.request, source.address, isGuess: source.isGuess, served, now: now)
        else { return }
        guard credential.isFromApp || served.configuration.isServer(source.address) else {
            if source.isGuess { source.responder.signIns.failed(source.address) }
            outsider = credential.id
            return
        }
        if source.isGuess { source.responder.signIns.succeeded(source.address, headers[.authorization] ?? "") }
        found = (app, credential)
    }

    /// Servers have `requests_per_credential`: all of a publisher's calls may come from one address.
    private func isCountedByAddress() throws(APIError) -> Bool {
        let endpoint = try endpoint().endpoint
        return endpoint.access == .anyone ? endpoint.isLimited : found?.credential.isFromApp ?? true
    }

    private func checkAddressRate() async throws {
        guard let source else { return }
        try await source.responder.checkRate(source.address, served.configuration)
    }

    private func checkMonitor() throws(APIError) {
        guard let source, try endpoint().endpoint.isWatched else { return }
        try source.responder.checkMonitor(source.request, source.address, served.configuration)
    }

    private mutating func checkAccess() throws(APIError) {
        let (endpoint, parameters) = try endpoint()
        guard let found, case .call = endpoint.handler,
            endpoint.access.admits(
                found.credential, channel: parameters["channel"].flatMap { try? ChannelID($0) },
                parameters: parameters)
        else {
            guard let source else { throw .notFound }
            var error = APIError.unauthorized(source.request.headers)
            error.cause = outsider.map { "\($0) came from an address that is not in gateway.server_addresses" }
            throw error
        }
        if let source { publisher = Publisher(credential: found.credential.id, address: source.address.text) }
    }

    /// The app secret is in every device: as one caller they would shut out each other.
    private func isCountedByCredential() throws(APIError) -> Bool {
        guard served.configuration.requestsPerCredential > 0 else { return false }
        return try !caller().credential.isFromApp
    }

    private func checkCredentialRate() async throws {
        guard let source else { return }
        let (app, credential) = try caller()
        let subject = "credential \(app.app.key) \(credential.id)"
        let most = served.configuration.requestsPerCredential
        if let seconds = await source.responder.rates.wait(subject, perSecond: most) {
            throw APIError.tooFast("the credential '\(credential.id)'", seconds)
        }
    }

    /// Whether the credential, which has the scope, is for some names alone. Handlers look at names in bodies.
    /// - Throws: 403
    private func needsNameOfPath() throws(APIError) -> Bool {
        guard case .issued(let grant) = try caller().credential else { return false }
        let endpoint = try endpoint().endpoint
        guard !grant.scopes.isDisjoint(with: endpoint.scopes) else {
            throw .missingScope(grant, endpoint.scope)
        }
        return grant.namePrefix != nil
    }

    /// - Throws: 403; 404 for a push or a schedule of a name that the credential is not for.
    private func checkNameOfPath() async throws {
        let ((endpoint, parameters), (app, credential)) = (try endpoint(), try caller())
        guard case .issued(let grant) = credential else { return }
        if let text = parameters["name"] {
            // A text that is no name gets its 400 from the handler.
            if let name = try? ActivityName(text), !grant.covers(name) { throw APIError.otherNames(grant) }
        } else if let text = parameters["push_id"] ?? parameters["schedule_id"] {
            guard let id = PushID(text) else { return }
            let app = app.app.key
            var name = try await PushCalls(served.parts).find(app, id)?.name
            // The push of a sent schedule may be forgotten before the schedule is.
            if name == nil { name = try await served.parts.store.schedules.find(app, id)?.publish.name }
            guard let name, grant.covers(name) else {
                throw parameters["push_id"] == nil ? APIError.noSuchSchedule : APIError.noSuchPush
            }
        } else if !endpoint.checksNames {
            throw APIError.otherNames(grant)
        }
    }

    private mutating func readQuery() throws(APIError) {
        guard let values = PercentEncoding.query(query) else {
            throw .parameter("query", "must be percent-encoded UTF-8")
        }
        self.values = values
    }

    private mutating func readBody() async throws {
        guard let source, try endpoint().endpoint.body == .whole else { return }
        let isFromApp = try caller().credential.isFromApp
        try await source.body.read(
            ownShare(), atMost: isFromApp ? GatewayConfiguration.deviceBodyBytes : .max,
            within: isFromApp ? served.configuration.deviceReadTimeout : nil)
    }

    private mutating func takeCapacity() throws(APIError) {
        let endpoint = try endpoint().endpoint
        let share = ownShare()
        guard endpoint.access != .anyone else {
            guard !endpoint.isLimited || share.take(.requests) else {
                throw .busy("requests without a secret that run at once")
            }
            return
        }
        guard share.take(.requests) else { throw .busy("requests that run at once") }
        guard endpoint.body != .streamed || share.take(.streams) else { throw .busy("bulk calls that run at once") }
    }

    private mutating func ownShare() -> Capacity.Share {
        if let share { return share }
        let network = found == nil ? nil : source?.address.countedNetwork
        let caller = found.map { Capacity.Caller($0.credential) } ?? .anyone
        let share = served.capacity.share(of: caller, app, network: network)
        self.share = share
        return share
    }
}
