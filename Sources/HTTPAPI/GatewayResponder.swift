import HTTPTypes
import Hummingbird
import LiveActivity
import Logging
import NIOCore
import StrictJSON
import Synchronization

/// Hummingbird's view of a request: it lends us the channel, for deadlines on the body.
struct GatewayContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }
}

/// Every request's way: route, authenticate, take a place, handle, answer, count, log. Never throws: each outcome is an
/// answer in the API's own form.
struct GatewayResponder: HTTPResponder {
    typealias Context = GatewayContext

    let handlers: Handlers
    let authenticator: Authenticator
    let places: Places
    let metrics: GatewayMetrics
    let logger: Logger
    let configuration: GatewayConfiguration
    /// Epoch milliseconds.
    let clock: @Sendable () -> Int64

    func respond(to request: Request, context: GatewayContext) async -> Response {
        let started = ContinuousClock.now
        let operation = UUIDBytes.random().description
        let body = IncomingBody(
            request, channel: context.channel, limit: configuration.maximumBodyBytes, timeout: configuration.readTimeout
        )
        let target = Target(request)
        var record = AccessRecord(operation: operation, endpoint: target.match.endpoint)
        let answer: Answer
        do throws(APIError) {
            answer = try await perform(target, request, body, operation, &record)
        } catch {
            record.cause = error.cause
            answer = Answer(error, operation: operation, type: record.endpoint?.answerType ?? Answer.jsonType)
        }
        var response = answer.response
        if await body.finish() { response.headers[.connection] = "close" }
        record.finish(answer, bytesIn: body.bytesRead, duration: started.duration(to: .now))
        metrics.requested(
            method: record.method, route: record.route, status: answer.status, duration: record.duration)
        record.write(to: logger)
        return request.method == .head ? response.createHeadResponse() : response
    }

    private func perform(
        _ target: Target, _ request: Request, _ body: IncomingBody, _ operation: String, _ record: inout AccessRecord
    ) async throws(APIError) -> Answer {
        let endpoint: Endpoint
        let parameters: [String: String]
        switch target.match {
        case .found(let found, let values): (endpoint, parameters) = (found, values)
        case .methodNotAllowed(let methods): throw .methodNotAllowed(methods)
        case .unserved(let row): throw .unserved(row)
        case .notFound: throw .notFound
        case .malformed: throw .parameter("path", "must be percent-encoded UTF-8")
        }
        if let answer = try await handlers.performOpen(endpoint.operation) { return answer }
        let now = clock()
        guard let (app, credential) = authenticator.authenticate(request.headers, now: now),
            endpoint.access.admits(
                credential, channel: parameters["channel"].flatMap { try? ChannelID($0) },
                contact: parameters["contact"].flatMap { ContactID($0) })
        else { throw .unauthorized(request.headers) }
        record.app = app.app.key
        guard let query = target.query else { throw .parameter("query", "must be percent-encoded UTF-8") }
        guard places.take() else {
            throw APIError(503, "The gateway is at its limit of requests in work. Try again.", retryAfter: 1)
        }
        metrics.inFlight(1)
        defer {
            places.giveBack()
            metrics.inFlight(-1)
        }
        return try await handlers.perform(
            Call(
                operation: operation, endpoint: endpoint, parameters: parameters, query: query,
                headers: request.headers, origin: Self.origin(request), app: app.app, tokens: app.tokens,
                credential: credential, body: body, now: now))
    }

    /// A proxy in front that ends TLS says so.
    private static func origin(_ request: Request) -> String {
        guard let authority = request.head.authority, !authority.isEmpty,
            authority.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !Array(#"/\?#@"<>"#.utf8).contains($0) })
        else { return "" }
        let isSecure = request.headers[.forwardedProto]?.lowercased() == "https"
        return "\(isSecure ? "https" : "http")://\(authority)"
    }

    /// Path and query of a request, still encoded, and the route they lead to.
    private struct Target {
        let match: RouteMatch
        /// Nil if it cannot be decoded.
        let query: [String: String]?

        init(_ request: Request) {
            let text = request.head.path ?? "/"
            let parts = text.cut(at: UInt8(ascii: "?"))
            match = RouteMatch(method: request.method.rawValue, path: (parts?.head ?? text)[...])
            query = PercentEncoding.query((parts?.tail ?? "")[...])
        }
    }
}

extension RouteMatch {
    var endpoint: Endpoint? {
        if case .found(let endpoint, _) = self { endpoint } else { nil }
    }
}

/// Requests in work, counted against a limit.
final class Places: Sendable {
    private let limit: Int
    private let taken = Mutex(0)

    init(_ limit: Int) {
        self.limit = limit
    }

    func take() -> Bool {
        taken.withLock { taken in
            guard taken < limit else { return false }
            taken += 1
            return true
        }
    }

    func giveBack() { taken.withLock { $0 -= 1 } }
}
