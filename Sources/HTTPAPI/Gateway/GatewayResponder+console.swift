import Console
import HTTPTypes
import Hummingbird
import LiveActivity
import Logging
import NIOCore
import ServiceLifecycle
import Synchronization
import Threads

/// Requests below `/console`. A form is read only after its session is known, except the form that signs in.
extension GatewayResponder {
    func respond(to request: Request, _ context: Context, _ console: Console) async -> Response {
        let started = ContinuousClock.now
        let operation = UUIDBytes.random().description
        let body = IncomingBody(
            request, channel: context.channel, limit: min(configuration.maximumBodyBytes, Console.mostFormBytes),
            timeout: configuration.readTimeout)
        let address = address(of: request, context.channel)
        let asked = consoleRequest(request, address)
        let (answer, app, share) = await answer(asked, request, address, body, console)
        var response = answer.response(context.channel, share)
        if configuration.identity != nil {
            response.headers[.strictTransportSecurity] = "max-age=2592000"
        }
        if await body.finish() || request.headers[.connection] == "close" { response.headers[.connection] = "close" }
        let duration = started.duration(to: .now)
        let method = ["GET", "HEAD", "POST"].contains(request.method.rawValue) ? request.method.rawValue : "OTHER"
        metrics.requested(method: method, route: answer.route, status: answer.status, duration: duration)
        var metadata: Logger.Metadata = [
            "operation": "\(operation)", "method": "\(method)", "route": "\(answer.route)",
            "status": "\(answer.status)", "ms": "\(duration.milliseconds)", "in": "\(body.bytesRead)",
        ]
        if let app { metadata["app"] = "\(app)" }
        if answer.status == 401 || answer.status == 429 { metadata["address"] = "\(asked.network)" }
        if let who = answer.who { metadata["who"] = "\(who)" }
        if let reason = answer.reason { metadata["reason"] = "\(reason)" }
        // Reads of pages are for the metrics; sign-ins, changes and failures are for people.
        let isPlain = answer.status < 400 && request.method != .post && answer.who == nil
        if isPlain {
            logger.debug("console", metadata: metadata)
        } else if answer.status != 401 || refusals.take() != nil {
            logger.log(level: answer.status >= 500 ? .warning : .info, "console", metadata: metadata)
        }
        guard request.method == .head else { return response }
        // A HEAD request has no reader of the events.
        if case .events(_, let end) = answer.body { end() }
        return response.createHeadResponse()
    }

    private func answer(
        _ asked: ConsoleRequest, _ request: Request, _ address: ClientAddress, _ body: IncomingBody,
        _ console: Console
    ) async -> (ConsoleResponse, AppKey?, Capacity.Share?) {
        var session: ConsoleSession?
        do {
            try checkForm(request)
            guard configuration.isServer(address) else { throw APIError.notFound }
            try await checkRate(address, configuration)
            session = try await Self.isFile(asked.path) ? nil : console.session(of: asked)
            if let identity = session?.identity { try await checkRate(identity) }
            let share = live.current.capacity.share(
                of: session == nil ? .signIn : .console, session?.identity.app,
                network: address.countedNetwork)
            defer { share.giveBackAll() }
            // Anybody can send the form that signs in, with or without a session.
            if request.method == .post, Console.isOpen(asked.path) {
                try await body.read(
                    share, atMost: Console.mostSignInBytes, within: configuration.signInReadTimeout)
            } else if request.method == .post, session != nil {
                try await body.read(share)
            }
            guard share.take(.requests) else { throw APIError.busy("requests to the console that run at once") }
            let answer = await console.respond(to: asked, session: session, body: body.collect())
            guard case .pieces = answer.body else {
                return (answer.unchanged(for: request.headers) ?? answer, session?.identity.app, nil)
            }
            let file = live.current.capacity.share(of: .console, session?.identity.app)
            guard file.take(.streams) else {
                throw APIError(429, "Two files of the console are made already. Try again.", retryAfter: 1)
            }
            return (answer, session?.identity.app, file)
        } catch let error as APIError {
            let page = console.refuse(error.status, error.message, asked, session)
            return (error.retryAfter.map { page.with("Retry-After", "\($0)") } ?? page, session?.identity.app, nil)
        } catch {
            return (console.failed(error, asked, session), session?.identity.app, nil)
        }
    }

    /// Counts a request of a signed-in browser as one of its credential. The calls that a page makes do not count. All
    /// people of a provider have one credential, so each counts alone.
    private func checkRate(_ identity: ConsoleIdentity) async throws {
        let most = configuration.requestsPerCredential
        guard most > 0 else { return }
        let id = identity.credentialID ?? Credential.master.id
        let subject = ["credential \(identity.app) \(id)", identity.person?.subject].compactMap(\.self)
        if let seconds = await rates.wait(subject.joined(separator: " "), perSecond: most) {
            throw APIError.tooFast("the \(identity.credential)", seconds)
        }
    }

    private static func isFile(_ path: String) -> Bool { path.hasPrefix("/console/assets/") }

    private func consoleRequest(_ request: Request, _ address: ClientAddress) -> ConsoleRequest {
        let headers = request.headers
        let isSecure =
            configuration.identity != nil || headers[.forwardedProto]?.lowercased() == "https"
            || configuration.publicURL?.hasPrefix("https:") == true
        return ConsoleRequest(
            method: request.method.rawValue, path: String(request.target.path),
            query: String(request.target.query), cookie: headers[values: .cookie].joined(separator: "; "),
            origin: headers[.origin], fetchSite: headers[.fetchSite], host: request.head.authority ?? "",
            referer: headers[.referer], address: address.text, network: address.network, isSecure: isSecure,
            now: clock())
    }
}

extension ConsoleResponse {
    /// The 304 for a browser that has this file already. Nil: the answer has no tag, or another one.
    fileprivate func unchanged(for headers: HTTPFields) -> ConsoleResponse? {
        guard status == 200, headers.hold(fields.first { $0.0 == "ETag" }?.1) else { return nil }
        var answer = self
        (answer.status, answer.body) = (304, .bytes([]))
        return answer
    }

    /// - Parameter share: is given back once a file is written, or nobody reads it
    func response(_ channel: any Channel, _ share: Capacity.Share?) -> Response {
        var headers = HTTPFields()
        for (name, value) in fields {
            if let name = HTTPField.Name(name) { headers.append(HTTPField(name: name, value: value)) }
        }
        let status = HTTPResponse.Status(code: status)
        switch body {
        case .bytes(let bytes):
            guard !bytes.isEmpty else { return Response(status: status, headers: headers) }
            return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
        case .pieces(let piece):
            return Response(
                status: status, headers: headers,
                body: ResponseBody { writer in
                    defer { share?.giveBackAll() }
                    let hasReader = Mutex(true)
                    RequestFormHandler.whenGone(channel) { hasReader.withLock { $0 = false } }
                    // The file is made on another executor, because the connections of this event loop must not wait
                    // for it.
                    while let bytes = await withTaskExecutorPreference(globalConcurrentExecutor, operation: piece) {
                        // This is not the end of the file: a client may have closed its side alone.
                        guard hasReader.withLock(\.self) else { throw CancellationError() }
                        if !bytes.isEmpty { try await writer.write(ByteBuffer(bytes: bytes)) }
                    }
                    try await writer.finish(nil)
                })
        case .events(let stream, let end):
            return Response(
                status: status, headers: headers,
                body: ResponseBody { writer in
                    // Otherwise only the next event or beat would notice that the browser has gone.
                    RequestFormHandler.whenGone(channel, end)
                    // A server that stops waits for its answers, and this one would never end.
                    try await withGracefulShutdownHandler {
                        for await part in stream { try await writer.write(ByteBuffer(bytes: part)) }
                    } onGracefulShutdown: {
                        end()
                    }
                    try await writer.finish(nil)
                })
        }
    }
}
