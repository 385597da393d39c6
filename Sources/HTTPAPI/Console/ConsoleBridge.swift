import Console
import HTTPTypes
import LiveActivity
import OpenSSL
import StrictJSON

/// Makes the calls of the console: as a request with the session's credential would, without HTTP between.
struct ConsoleBridge: Sendable {
    let handlers: Handlers
    let authenticator: Authenticator
    let capacity: Capacity
    let recorder: ActionRecorder

    var gateway: ConsoleGateway {
        ConsoleGateway(
            signIn: { key, secret, now in identity(key, secret, now) }, stands: { identity in stands(identity) },
            call: { identity, call in await answer(identity, call) })
    }

    private func identity(_ key: String, _ secret: String, _ now: Int64) -> ConsoleIdentity? {
        var headers = HTTPFields()
        headers[.authorization] = "Basic \(Base64.encode("\(key):\(secret)".utf8))"
        guard !key.contains(":"), let (app, credential) = authenticator.authenticate(headers, now: now),
            credential == .master
        else { return nil }
        return ConsoleIdentity(app: app.app.key, credential: "master secret", proof: Self.proof(app))
    }

    private func stands(_ identity: ConsoleIdentity) -> Bool {
        guard let app = authenticator.app(identity.app) else { return false }
        return SHA256Digest(of: Self.proof(app).utf8) == SHA256Digest(of: identity.proof.utf8)
    }

    /// No secret can be made from it, and it changes with the secret.
    private static func proof(_ app: Authenticator.App) -> String {
        Hex.encode(HMACKey(app.app.masterSecret.utf8).code(for: "lamplighter console 1".utf8))
    }

    private func answer(_ identity: ConsoleIdentity, _ call: ConsoleCall) async -> ConsoleAnswer {
        let operation = UUIDBytes.random().description
        do {
            let answer = try await perform(identity, call, operation)
            return ConsoleAnswer(status: answer.status, body: answer.body)
        } catch {
            let error = APIError(thrown: error)
            let answer = Answer(error, operation: operation)
            return ConsoleAnswer(status: answer.status, body: answer.body)
        }
    }

    private func perform(
        _ identity: ConsoleIdentity, _ call: ConsoleCall, _ operation: String
    ) async throws -> Answer {
        let (endpoint, parameters) = try RouteMatch(method: call.method, path: call.path[...]).get()
        guard case .call(let method) = endpoint.handler, let app = authenticator.app(identity.app),
            endpoint.access.admits(.master, channel: nil)
        else { throw APIError.notFound }
        guard let query = PercentEncoding.query(call.query[...]) else {
            throw APIError.parameter("query", "must be percent-encoded UTF-8")
        }
        let share = capacity.share(of: .master, app.app.key)
        defer { share.giveBackAll() }
        guard share.take(.requests) else { throw APIError.busy("requests that run at once") }
        var headers = HTTPFields()
        if let key = call.idempotencyKey { headers[.idempotencyKey] = key }
        let publisher = Publisher(credential: Credential.master.id, address: call.address)
        let answer = try await method(handlers)(
            Call(
                operation: operation, parameters: parameters, query: query, headers: headers, origin: "", app: app.app,
                tokens: app.tokens, credential: .master, caller: publisher, body: IncomingBody(whole: call.body),
                now: call.now))
        if let kind = endpoint.action, (200..<300).contains(answer.status) {
            await recorder.note(kind, answer.action(kind, publisher, operation, parameters), of: app.app.key)
        }
        return answer
    }
}
