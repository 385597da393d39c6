import Answers
import LiveActivity
import Store

/// A token for a copy of the app, without its backend: the app proves by App Attest that it is genuine.
struct AttestationCalls: CallGroup {
    private let keys: AttestedKeys

    init(_ parts: GatewayParts) { keys = parts.store.attestedKeys }

    func challenge(_ call: Call) async throws -> Answer {
        guard call.app.attestation != nil else { throw APIError.unauthorized }
        let body = AttestationChallengeAnswer(
            challenge: call.tokens.challenge(now: call.now), expiresIn: Int(SDKTokens.challengeLife))
        return Answer(200, body)
    }

    /// Answers the same token as `GET /api/auth/device?only=reports`.
    func token(_ call: Call) async throws -> Answer {
        guard let rules = call.app.attestation else { throw APIError.unauthorized }
        let body = try AttestationBody(call.body.collect())
        guard call.tokens.isChallenge(body.challenge, now: call.now) else {
            throw Self.refusal("its challenge is not of this gateway, or older than five minutes")
        }
        try await check(body, rules, call)
        let token = call.tokens.token(for: body.channel, isForReports: true, now: call.now)
        return Answer(200, DeviceTokenAnswer(token: token, expiresIn: Int(SDKTokens.lifetimeMilliseconds)))
    }

    /// A challenge that was used is refused before anything is kept. It is used last, so that a call that failed on the
    /// way can be repeated. Of two calls at once with one challenge, both may keep their keys, and one gets a token.
    private func check(_ body: AttestationBody, _ rules: AppAttest, _ call: Call) async throws {
        let (app, now) = (call.app.key, call.now / 1_000)
        do {
            switch body.proof {
            case .attestation(let object):
                // Checking signatures must not keep the other connections of the event loop waiting.
                let point = try await withTaskExecutorPreference(globalConcurrentExecutor) {
                    try rules.key(body.keyID, attestedBy: object, body.clientData, at: now)
                }
                if try await keys.isUsed(body.challenge, of: app) { throw Self.usedBefore }
                try await keys.keep(app, body.keyID, point: point, of: body.channel)
                try await use(body, app)
            case .assertion(let assertion):
                guard let point = try await keys.point(app, body.keyID, of: body.channel) else {
                    throw APIError(
                        403, "This key is not attested for this channel. Make another one and attest it.", code: 40305)
                }
                let counter = try await withTaskExecutorPreference(globalConcurrentExecutor) {
                    try rules.counter(of: assertion, signedBy: point, body.clientData)
                }
                try await use(body, app)
                guard try await keys.count(app, body.keyID, to: counter) else {
                    throw Self.refusal("its counter did not grow, so it was used before")
                }
            }
        } catch let failure as AppAttest.Failure {
            throw Self.refusal(failure.reason)
        }
    }

    private func use(_ body: AttestationBody, _ app: AppKey) async throws {
        let life = Duration.milliseconds(2 * SDKTokens.challengeLife)
        guard try await keys.use(body.challenge, of: app, for: life) else {
            throw Self.usedBefore
        }
    }

    private static let usedBefore = refusal("its challenge was used before")

    private static func refusal(_ reason: String) -> APIError {
        var error = APIError(403, "App Attest does not vouch for this app: \(reason).", code: 40304)
        error.isFalseProof = true
        return error
    }
}
