import Console
import HTTPTypes
import LiveActivity
import OpenSSL
import Store
import StrictJSON
import Threads

/// Makes the calls of the console: as a request with the session's credential would, without HTTP between.
struct ConsoleBridge: Sendable {
    let live: Replaceable<GatewayResponder.Served>
    let recorder: ActionRecorder

    var gateway: ConsoleGateway {
        let ways = live.current.configuration.features.compactMap { $0.signInWay(live) }
        return ConsoleGateway(
            signIn: { key, secret, now in
                do {
                    return try await identity(key, secret, now)
                } catch let error as APIError {
                    throw EndedSecret(message: error.message)
                }
            },
            standing: { identity, now in
                guard identity.person != nil else { return try await standing(identity, now) }
                return ways.lazy.compactMap { $0.standing(identity, now) }.first
            },
            call: { identity, call in await answer(identity, call) },
            ways: ways,
            state: { identity, withQueue in await state(identity, withQueue: withQueue) },
            acknowledge: { identity, alarm, isKnown, now in
                try await acknowledge(identity, alarm, isKnown: isKnown, now)
            },
            records: live.current.parts.store.console, actions: ActionKind.all.map(\.rawValue),
            now: { live.current.parts.store.time.now() },
            problem: { Self.problem($0) },
            platforms: { live.current.authenticator.app($0)?.app.platforms ?? [] })
    }

    private func identity(_ key: String, _ secret: String, _ now: Int64) async throws -> ConsoleIdentity? {
        guard !key.contains(":") else { return nil }
        let served = live.current
        var headers = HTTPFields()
        headers[.authorization] = "Basic \(Base64.encode("\(key):\(secret)".utf8))"
        if let (app, credential) = served.authenticator.authenticate(headers, now: now) {
            // The app secret is in every device.
            guard credential == .master else { return nil }
            return ConsoleIdentity(app: app.app.key, proof: Self.proof(app))
        }
        guard let claim = CredentialClaim(headers),
            let (app, found) = try await served.authenticator.issued(claim, served.parts.credentials, now: now),
            let proof = found.proof(of: claim.secret, at: now)
        else { return nil }
        return ConsoleIdentity(app.app.key, found.grant, proof: proof)
    }

    private func standing(_ identity: ConsoleIdentity, _ now: Int64) async throws -> ConsoleIdentity? {
        let served = live.current
        guard let app = served.authenticator.app(identity.app) else { return nil }
        guard let id = identity.credentialID else {
            let isSame = SHA256Digest(of: Self.proof(app).utf8) == SHA256Digest(of: identity.proof.utf8)
            return isSame ? ConsoleIdentity(app: app.app.key, proof: identity.proof) : nil
        }
        let found = try await served.authenticator.credential(app, id, served.parts.credentials, now: now) {
            $0.stands(proof: identity.proof, at: now)
        }
        return found.map { ConsoleIdentity(app.app.key, $0.grant, proof: identity.proof) }
    }

    /// No secret can be made from it, and it changes with the secret.
    private static func proof(_ app: Authenticator.App) -> String {
        Hex.encode(HMACKey(app.app.masterSecret.utf8).code(for: "lamplighter console 1".utf8))
    }

    private func answer(_ identity: ConsoleIdentity, _ call: ConsoleCall) async -> ConsoleAnswer {
        let operation = UUIDBytes.random().description
        do {
            let answer = try await perform(identity, call, operation)
            if let value = answer.value { return ConsoleAnswer(status: answer.status, value: value) }
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
        let served = live.current
        let credential: Credential = identity.grant.map { .issued($0) } ?? .master
        var guarded = GuardedCall(
            RouteMatch(method: call.method, path: call.path[...]), query: call.query[...],
            app: served.authenticator.app(identity.app), credential,
            Publisher(
                credential: credential.id, address: call.address, who: identity.person?.name,
                whoID: identity.person?.subject), served,
            now: call.now)
        defer { guarded.leave() }
        try await guarded.pass(RequestCheck.ofConsole)
        var headers = HTTPFields()
        if let key = call.idempotencyKey { headers[.idempotencyKey] = key }
        return try await guarded.runHandler(
            operation, headers: headers, origin: "", IncomingBody(whole: call.body), recorder,
            as: call.action.flatMap { ActionKind(rawValue: $0) })
    }
}

extension ConsoleIdentity {
    /// Nil: the master secret.
    var grant: Grant? {
        credentialID.map { Grant(id: $0, scopes: scopes, namePrefix: namePrefix, expires: expires) }
    }

    fileprivate init(_ app: AppKey, _ grant: Grant, proof: String) {
        self.init(
            app: app, credentialID: grant.id, proof: proof, scopes: grant.scopes, namePrefix: grant.namePrefix,
            expires: grant.expires)
    }
}
