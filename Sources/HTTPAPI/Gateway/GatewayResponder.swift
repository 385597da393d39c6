import Console
import HTTPTypes
import Hummingbird
import LiveActivity
import Logging
import NIOCore
import Store
import StrictJSON
import Threads

/// Answers every request: route, secret, body, capacity, handler, counts, log. It never throws: an error is a response.
struct GatewayResponder: HTTPResponder {
    typealias Context = GatewayContext

    /// The parts that a reload replaces. A request takes one `Served` and uses it from its beginning to its end.
    /// `Served` is a class, so that this copies nothing.
    final class Served: Sendable {
        let parts: GatewayParts
        /// For callers that everybody with the app can be.
        let partsOfApps: GatewayParts
        let authenticator: Authenticator
        let capacity: Capacity
        var configuration: GatewayConfiguration { parts.configuration }

        init(_ parts: GatewayParts, capacity: Capacity) {
            (self.parts, self.capacity) = (parts, capacity)
            partsOfApps = GatewayParts(parts, parts.configuration, store: parts.store.forApps())
            authenticator = Authenticator(parts.configuration.apps)
        }

        /// The credential of a request, or nil if it has none that is right.
        func credential(_ headers: HTTPFields, now: Int64) async throws -> (Authenticator.App, Credential)? {
            if let found = authenticator.authenticate(headers, now: now) { return found }
            guard let claim = CredentialClaim(headers),
                let (app, found) = try await authenticator.issued(claim, parts.credentials, now: now)
            else { return nil }
            return (app, .issued(found.grant))
        }
    }

    let live: Replaceable<Served>
    var configuration: GatewayConfiguration { live.current.configuration }
    let metrics: GatewayMetrics
    let logger: Logger
    /// Epoch milliseconds.
    let clock: @Sendable () -> Int64
    let recorder: ActionRecorder
    /// The pages at `/console`. Nil: the console is switched off.
    let console: Console?
    let signIns: SignInLimit
    /// The false proofs of callers without a secret. Each costs some milliseconds.
    let proofs: SignInLimit
    static let falseProofsPerMinute = 10
    let rates: RateLimit
    /// Limits the log lines about wrong credentials, because anybody can send these.
    let refusals = LogThrottle(burst: 100, perSecond: 10)
    let sampling = RequestSampling()
    /// The most usual deployment has a proxy on the same machine. One line says that it is not named.
    let unnamedProxies = LogThrottle(burst: 1, perSecond: 0)
    /// Anybody can be fast.
    let fastAddresses = LogThrottle(burst: 1, perSecond: 1.0 / 60)

    func respond(to request: Request, context: GatewayContext) async -> Response {
        await CallChanges.noting { await respond(to: request, context) }
    }

    private func respond(to request: Request, _ context: GatewayContext) async -> Response {
        if let console, Console.serves(request.target.path) {
            // A page that takes long must not keep the other connections of its event loop waiting.
            return await withTaskExecutorPreference(globalConcurrentExecutor) {
                await respond(to: request, context, console)
            }
        }
        let started = ContinuousClock.now
        let operation = UUIDBytes.random().description
        let served = live.current
        let body = IncomingBody(
            request, channel: context.channel, limit: served.configuration.maximumBodyBytes,
            timeout: served.configuration.readTimeout)
        let match = RouteMatch(method: request.method.rawValue, path: request.target.path)
        var record = AccessRecord(operation: operation, endpoint: match.endpoint)
        let answer: Answer
        do {
            let source = GuardedCall.Source(
                responder: self, request: request, body: body, address: address(of: request, context.channel),
                isGuess: Authenticator.holdsSecret(request.headers))
            answer = try await perform(match, source, served, &record).written
            // So that the OpenAPI document tells the truth. Each test that calls the gateway checks it.
            assert(match.endpoint?.declares(answer) ?? true, "\(record.route) answers in another form")
        } catch {
            let error = APIError(thrown: error)
            record.cause = error.cause
            answer = Answer(error, operation: operation, to: request.headers)
        }
        var response = answer.response(record.endpoint?.answerType ?? Answer.jsonType)
        if await body.finish() || request.headers[.connection] == "close" { response.headers[.connection] = "close" }
        let duration = started.duration(to: .now)
        metrics.requested(method: record.method, route: record.route, status: answer.status, duration: duration)
        if answer.status == 401 { record.address = address(of: request, context.channel).text }
        if let leftOut = leftOut(before: answer, record) {
            record.write(answer, bytesIn: body.bytesRead, duration, leftOut: leftOut, to: logger)
        }
        return request.method == .head ? response.createHeadResponse() : response
    }

    /// How many similar requests got no log line since the last one. Nil if this request gets no line either.
    private func leftOut(before answer: Answer, _ record: AccessRecord) -> Int? {
        let level = record.level(answer)
        guard logger.logLevel <= level else { return nil }
        if answer.status == 401 { return refusals.take() }
        return level < .info ? 0 : sampling.take(route: record.route, status: answer.status)
    }

    private func perform(
        _ match: RouteMatch, _ source: GuardedCall.Source, _ served: Served, _ record: inout AccessRecord
    ) async throws -> Answer {
        var guarded = GuardedCall(source, match, served, now: clock())
        defer {
            (record.app, record.caller) = (guarded.publisher == nil ? nil : guarded.app, guarded.publisher)
            guarded.leave()
        }
        try await guarded.pass(RequestCheck.ofAll)
        if case .open(let open) = try guarded.endpoint().endpoint.handler {
            try await guarded.pass(RequestCheck.ofOpenCalls)
            let answer = try await open(served.parts)
            return answer.unchanged(for: source.request.headers) ?? answer
        }
        try await guarded.pass(RequestCheck.ofCalls)
        metrics.inFlight(1)
        defer { metrics.inFlight(-1) }
        let headers = source.request.headers
        let (app, credential) = try guarded.caller()
        return try await guarded.runHandler(
            record.operation, headers: headers,
            origin: Self.origin(source.request, isSecure: served.configuration.identity != nil), source.body, recorder,
            confirm: { try await confirm(credential, of: app.app.key, headers) })
    }

    /// The client's address, as far as trusted proxies tell it.
    func address(of request: Request, _ channel: any Channel) -> ClientAddress {
        let address = ClientAddress(
            peer: channel.remoteAddress?.ipAddress, headers: request.headers, trusted: configuration.trustedProxies)
        if address.isOwn, !address.isOperator, unnamedProxies.take() != nil {
            logger.warning(
                """
                a proxy on this machine is not in gateway.trusted_proxies: limits by address count all of its clients \
                as one
                """, metadata: ["remedy": "name it there, such as 127.0.0.1, and let it send X-Forwarded-For"])
        }
        return address
    }

    func checkRate(_ address: ClientAddress, _ configuration: GatewayConfiguration) async throws {
        guard configuration.requestsPerAddress > 0, !address.isOperator else { return }
        let seconds = await rates.wait("address \(address.network)", perSecond: configuration.requestsPerAddress)
        guard let seconds else { return }
        if let leftOut = fastAddresses.take() {
            logger.notice(
                "an address is over limits.requests_per_address",
                metadata: [
                    "address": "\(address.network)", "left_out": .stringConvertible(leftOut),
                    "remedy": "if it is a proxy or a backend, name it in gateway.trusted_proxies, or raise the limit",
                ])
        }
        throw APIError.tooFast("this address", seconds)
    }

    /// Refuses `/metrics` and `/readyz` where they are not served, or without their secret.
    func checkMonitor(
        _ request: Request, _ address: ClientAddress, _ configuration: GatewayConfiguration
    ) throws(APIError) {
        guard !configuration.hasOwnMonitor else { throw .notFound }
        let secret = MonitorSecret(configuration.monitorSecret)
        try secret.check(request.headers, from: address, signIns)
    }

    func authenticate(
        _ request: Request, _ address: ClientAddress, isGuess: Bool, _ served: Served, now: Int64
    ) async throws -> (Authenticator.App, Credential)? {
        if isGuess, let seconds = signIns.wait(address, request.headers[.authorization] ?? "") {
            throw APIError.tooManyGuesses(seconds)
        }
        let found = try await served.credential(request.headers, now: now)
        if isGuess, found == nil { signIns.failed(address) }
        return found
    }

    /// Refuses to go on with a call that takes long, once its credential was revoked, has other rights or has expired.
    private func confirm(_ credential: Credential, of app: AppKey, _ headers: HTTPFields) async throws {
        let found = try await live.current.credential(headers, now: clock())
        guard let found, found.0.app.key == app, found.1.isAsGood(as: credential) else {
            throw APIError.unauthorized(headers)
        }
    }

    /// Refuses a request that clients, proxies and servers would read in different ways.
    func checkForm(_ request: Request) throws(APIError) {
        guard request.head.authority != nil else { throw APIError.parameter("Host", "must be sent exactly once") }
        if let coding = request.headers[.transferEncoding], coding.lowercased() != "chunked" {
            throw APIError(501, "The Transfer-Encoding must be chunked, in HTTP/1.1.")
        }
    }

    /// The address by which the caller reached this gateway. A proxy that ends TLS says so in `X-Forwarded-Proto`.
    static func origin(_ request: Request, isSecure: Bool) -> String {
        guard let authority = request.head.authority, !authority.isEmpty,
            authority.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !Array(#"/\?#@"<>"#.utf8).contains($0) })
        else { return "" }
        let isSecure = isSecure || request.headers[.forwardedProto]?.lowercased() == "https"
        return "\(isSecure ? "https" : "http")://\(authority)"
    }
}

extension Request {
    /// Path and query, still encoded.
    var target: (path: Substring, query: Substring) {
        let text = head.path ?? "/"
        let parts = text.cut(at: UInt8(ascii: "?"))
        return (parts?.head[...] ?? text[...], parts?.tail[...] ?? "")
    }
}
