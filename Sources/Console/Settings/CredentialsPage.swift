import Answers
import LiveActivity
import StrictJSON

/// The credentials of the app with their rights and their time. A secret stands in the answer to the form that makes it
/// and nowhere else, so it is in no address, no log and no cache.
enum CredentialsPage {
    private static let lives: [(value: String, title: String)] = [
        ("", "never"), ("86400", "after a day"), ("604800", "after 7 days"), ("2592000", "after 30 days"),
        ("7776000", "after 90 days"), ("31536000", "after a year"),
    ]
    private static let keeps: [(value: String, title: String)] = [
        ("86400", "for a day"), ("604800", "for 7 days"), ("3600", "for an hour"), ("0", "no longer"),
    ]

    static func show(_ visit: Visit) async throws -> ConsoleResponse { try await list(visit) }

    static func create(_ visit: Visit) async throws -> ConsoleResponse {
        let form = visit.form
        let wanted = CredentialScope.all.filter { form.has("scope_\($0.rawValue)") }
        let body = JSON.fields([
            "id": .string(form["id"].trimmed), "scopes": .array(wanted.map { .string($0.rawValue) }),
            "name_prefix": form.text("name_prefix").map(JSON.string),
            "expires_in": form.number("expires_in", in: 1...315_360_000).map { .integer($0) },
        ])
        let answer = await visit.answer("POST", "/api/credentials", body)
        guard answer.status == 201 else { return try await list(visit, refused: ConsoleFailure(answer)) }
        return await secret(try MadeCredentialAnswer(answer), visit)
    }

    /// How many names begin so now, in words. Nil: the credential is for all names.
    private static func names(_ prefix: String?, _ visit: Visit) async -> String? {
        guard let prefix else { return nil }
        let query = Form.query(["prefix": prefix, "limit": "\(mostNames)"])
        guard let found: ActivitiesAnswer = try? await visit.get("/api/activities", query: query) else { return nil }
        let more = found.next == nil ? "" : "over "
        return more + Shown.count(found.activities.count, "name begins", "names begin") + " so now"
    }

    private static let mostNames = 1_000

    static func rotate(_ visit: Visit) async throws -> ConsoleResponse {
        let id = visit.parameter("credential")
        guard visit.form["confirmed"] == "yes" else {
            return visit.page(
                "credential-rotate", "Give \(id) a new secret?",
                values(["id": id, "path": visit.request.path, "keeps": Options.list(keeps, chosen: "86400")]))
        }
        let keep = visit.form.number("keep", in: 0...2_592_000) ?? 86_400
        let made = try await visit.call(
            "POST", "/api/credentials/\(Form.encoded(id))/rotate", ["keep": .integer(keep)])
        return await secret(try MadeCredentialAnswer(made), visit)
    }

    static func revoke(_ visit: Visit) async throws -> ConsoleResponse {
        let id = visit.parameter("credential")
        let back = "/console/credentials"
        let sentence = "Every program that uses it stops at once, and everybody who is signed in with it is signed out."
        if let page = visit.confirmation("Revoke \(id)?", sentence, button: "Revoke", back: back) { return page }
        try await visit.call("DELETE", "/api/credentials/\(Form.encoded(id))")
        // Maybe the own one: then the next page is the sign-in.
        return visit.redirect(back, .revoked)
    }

    private static func secret(_ made: MadeCredentialAnswer, _ visit: Visit) async -> ConsoleResponse {
        let credential = made.credential
        return visit.page(
            "credential-secret", "The secret of \(credential.id)",
            values([
                "id": credential.id, "secret": made.secret, "app": visit.app.rawValue,
                "scopes": credential.scopes.joined(separator: ", "), "prefix": credential.namePrefix,
                "names": await names(credential.namePrefix, visit),
                "expires": Shown.time(credential.expiresAt, now: visit.now),
                "oldUntil": Shown.time(credential.oldSecretUntil, now: visit.now),
                "mayRead": credential.scopes.contains(CredentialScope.read.rawValue) ? true : nil,
            ]))
    }

    private static func list(_ visit: Visit, refused: ConsoleFailure? = nil) async throws -> ConsoleResponse {
        let file = try await Export.file(
            visit, "/api/credentials", "credentials", columns: CredentialAnswer.memberNames)
        if let file { return file }
        let found: CredentialListAnswer = try await visit.get("/api/credentials")
        let identity = visit.session.identity
        let form = visit.form
        let rows = found.credentials.filter { $0.source != "built-in" }.map { row($0, visit) }
        let mayMake = CredentialScope.all.filter {
            identity.scopes.contains($0) && (identity.credentialID == nil || !$0.isOfMaster)
        }
        let own = mayMake.map { scope in
            values([
                "word": scope.rawValue, "meaning": scope.meaning,
                "checked": form.has("scope_\(scope.rawValue)") || refused == nil && scope == .read ? true : nil,
            ])
        }
        return visit.page(
            "credentials", "Credentials",
            values([
                "credentials": rows, "empty": rows.isEmpty ? true : nil, "choices": own,
                "problem": refused.map { $0.plain ?? $0.message }, "place": refused?.path.map(place),
                "isOpen": refused == nil ? nil : true, "wantedID": form["id"], "wantedPrefix": form["name_prefix"],
                "lives": Options.list(lives, chosen: form["expires_in"]),
                "end": identity.expires.flatMap { Shown.time($0, now: visit.now) },
                "pager": Pager.values(visit, next: nil, keeping: []),
            ]), status: refused.map { $0.status == 400 ? 422 : $0.status } ?? 200)
    }

    /// The field of a member of the API's body.
    private static func place(_ path: String) -> String {
        switch path.split(whereSeparator: { ".[".contains($0) }).first {
        case "id": "Id"
        case "scopes": "May"
        case "name_prefix": "Only names that begin with"
        case "expires_in": "Ends"
        default: path
        }
    }

    private static func row(_ credential: CredentialAnswer, _ visit: Visit) -> Values {
        let isFromFile = credential.source == "file"
        let isOver = credential.expiresAt.flatMap { TimeText.parse($0) }.map { $0 <= visit.now } ?? false
        return values([
            "id": credential.id, "path": "/console/credentials/\(Form.encoded(credential.id))",
            "scopes": credential.scopes.map { ["word": $0] as Values }, "prefix": credential.namePrefix,
            "expires": Shown.time(credential.expiresAt, now: visit.now), "isOver": isOver ? true : nil,
            "created": Shown.time(credential.createdAt, now: visit.now),
            "createdBy": credential.createdBy.map { $0 == "master" ? "master secret" : $0 },
            "used": Shown.time(credential.lastUsedAt, now: visit.now),
            "oldUntil": Shown.time(credential.oldSecretUntil, now: visit.now),
            "isFromFile": isFromFile ? true : nil, "isMade": isFromFile ? nil : true,
            "isOwn": credential.id == visit.session.identity.credentialID ? true : nil,
        ])
    }
}
