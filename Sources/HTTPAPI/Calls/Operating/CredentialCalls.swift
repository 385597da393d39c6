import Answers
import LiveActivity
import Store
import StrictJSON

/// The credentials of an app. A secret is shown once, in the answer to the call that makes it.
struct CredentialCalls: CallGroup {
    private let credentials: Credentials
    private let cache: CredentialCache

    init(_ parts: GatewayParts) { (credentials, cache) = (parts.store.credentials, parts.credentials) }

    func list(_ call: Call) async throws -> Answer {
        let builtIn = ["app", "master"].map { id in
            CredentialAnswer(
                id: id, source: "built-in", scopes: [], namePrefix: nil, createdAt: nil, expiresAt: nil, secrets: 1,
                oldSecretUntil: nil)
        }
        let (makers, uses) = try await credentials.uses(call.app.key)
        let fromFile = call.app.credentials.map { $0.answer("file", used: uses[$0.id]) }
        let made = try await credentials.all(call.app.key).credentials.map { credential in
            credential.answer("made", by: makers[credential.id], used: uses[credential.id])
        }
        return Answer(200, CredentialListAnswer(credentials: builtIn + fromFile + made))
    }

    func create(_ call: Call) async throws -> Answer {
        let body = try CredentialBody(call.body.collect())
        guard !call.app.credentials.contains(where: { $0.id == body.id }) else { throw APIError.credentialExists }
        let secret = SecretHash.newSecret(of: body.id)
        let credential = AppCredential(
            id: body.id, scopes: body.scopes, namePrefix: body.namePrefix,
            expires: body.expiresIn.map { call.now + $0 * 1_000 }, created: call.now,
            secrets: [AppCredential.Secret(hash: SecretHash(of: secret).text)])
        try checkMayMake(credential, call)
        switch try await credentials.change(call.app.key, body.id, from: nil, to: credential) {
        case .done: break
        case .conflict: throw APIError.credentialExists
        case .full: throw APIError(409, "An app may have \(Credentials.most) credentials: revoke one first.")
        }
        cache.forget(call.app.key)
        // The credential is made. A list that does not tell by whom is no error of this call.
        try? await credentials.noteMaker(call.app.key, body.id, call.credential.id)
        let answer = credential.answer("made", by: call.credential.id)
        return Answer(201, MadeCredentialAnswer(credential: answer, secret: secret)).about([.credential: body.id])
    }

    /// Gives a credential another secret. The last secret stays valid for a while, so that no call fails meanwhile.
    /// Older secrets keep their ends. With `keep` 0 all old secrets end.
    func rotate(_ call: Call) async throws -> Answer {
        let keep = try CredentialBody.keep(call.object(known: ["keep"]))
        let old = try await madeCredential(call)
        try checkMayMake(old, call)
        let secret = SecretHash.newSecret(of: old.id)
        var new = old
        new.secrets = [AppCredential.Secret(hash: SecretHash(of: secret).text)]
        if keep > 0, var previous = old.secrets.first {
            previous.until = min(previous.until ?? .max, call.now + keep * 1_000)
            new.secrets.append(previous)
            new.secrets += old.secrets.dropFirst().filter { ($0.until ?? 0) > call.now }
                .prefix(AppCredential.mostSecrets - 2)
        }
        guard try await credentials.change(call.app.key, old.id, from: old, to: new) == .done else {
            throw APIError(409, "The credential was changed meanwhile. Try again.")
        }
        cache.forget(call.app.key)
        return Answer(200, MadeCredentialAnswer(credential: new.answer("made"), secret: secret))
    }

    func revoke(_ call: Call) async throws -> Answer {
        let id = call.parameter("credential")
        // The master secret also revokes what only a newer version can read.
        if case .issued = call.credential { _ = try await madeCredential(call) } else { try checkIsMade(id, call) }
        guard try await credentials.remove(call.app.key, id) else { throw APIError.noSuchCredential }
        cache.forget(call.app.key)
        return .empty
    }

    /// The credential that the path names. It must be in Redis, and have no right that the caller lacks.
    private func madeCredential(_ call: Call) async throws -> AppCredential {
        let id = call.parameter("credential")
        try checkIsMade(id, call)
        let all = try await credentials.all(call.app.key).credentials
        guard let found = all.first(where: { $0.id == id }) else { throw APIError.noSuchCredential }
        try checkCovers(found, call)
        return found
    }

    private func checkIsMade(_ id: String, _ call: Call) throws(APIError) {
        guard AppCredential.builtInIDs.contains(id) || call.app.credentials.contains(where: { $0.id == id }) else {
            return
        }
        throw APIError(409, "This credential is in the gateway's configuration: change it there.")
    }

    private func checkMayMake(_ credential: AppCredential, _ call: Call) throws(APIError) {
        try checkCovers(credential, call)
        guard case .issued(let grant) = call.credential, !grant.mayMake(Grant(credential)) else { return }
        let words = CredentialScope.all.filter(\.isOfMaster).map(\.rawValue).joined(separator: " or ")
        throw APIError(
            403,
            "Only the master secret makes a credential with \(words), or a new secret of one: otherwise one person "
                + "could be two.", code: 40301)
    }

    /// Throws if the credential has more rights than the caller, who may neither make it nor take it over.
    private func checkCovers(_ credential: AppCredential, _ call: Call) throws(APIError) {
        guard case .issued(let grant) = call.credential, !grant.covers(Grant(credential)) else { return }
        let end = grant.expires.map {
            " It ends at \(TimeText.text($0)), so this one must end by then too (`expires_in`)."
        }
        throw APIError(403, "The credential '\(grant.id)' lacks rights that this one has.\(end ?? "")", code: 40301)
    }
}

extension AppCredential {
    /// - Parameter used: when it was used last, epoch ms
    fileprivate func answer(_ source: String, by maker: String? = nil, used: Int64? = nil) -> CredentialAnswer {
        CredentialAnswer(
            id: id, source: source, scopes: scopes.words, namePrefix: namePrefix,
            createdAt: source == "made" ? TimeText.text(created) : nil, expiresAt: expires.map(TimeText.text),
            secrets: secrets.count,
            oldSecretUntil: secrets.dropFirst().compactMap(\.until).max().map(TimeText.text), createdBy: maker,
            lastUsedAt: used.map(TimeText.text))
    }
}

extension APIError {
    fileprivate static let credentialExists = APIError(
        409, "There is a credential of that id: choose another one, or rotate it for a new secret.")
    fileprivate static let noSuchCredential = APIError(404, "This app has no credential of that id.", code: 40401)
}
