/// A credential, without its secrets.
public struct CredentialAnswer: AnswerBody {
    public let id, source: String
    public let scopes: [String]
    public let namePrefix, createdAt, expiresAt: String?
    public let secrets: Int
    public let oldSecretUntil, createdBy, lastUsedAt: String?

    public init(
        id: String, source: String, scopes: [String], namePrefix: String?, createdAt: String?, expiresAt: String?,
        secrets: Int, oldSecretUntil: String?, createdBy: String? = nil, lastUsedAt: String? = nil
    ) {
        (self.id, self.source, self.scopes, self.namePrefix) = (id, source, scopes, namePrefix)
        (self.createdAt, self.expiresAt) = (createdAt, expiresAt)
        (self.secrets, self.oldSecretUntil) = (secrets, oldSecretUntil)
        (self.createdBy, self.lastUsedAt) = (createdBy, lastUsedAt)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == CredentialAnswer {
        id = try fields("id", \.id)
        source = try fields("source", \.source, .words(["built-in", "file", "made"]))
        scopes = try fields("scopes", \.scopes, .list(.named("Scope")))
        namePrefix = try fields.optional("name_prefix", \.namePrefix)
        createdAt = try fields.optional("created_at", \.createdAt, .time)
        expiresAt = try fields.optional("expires_at", \.expiresAt, .time)
        secrets = try fields("secrets", \.secrets)
        oldSecretUntil = try fields.optional("old_secret_until", \.oldSecretUntil, .time)
        createdBy = try fields.optional("created_by", \.createdBy)
        lastUsedAt = try fields.optional("last_used_at", \.lastUsedAt, .time)
    }
}

/// A credential with its new secret.
public struct MadeCredentialAnswer: AnswerBody {
    public let credential: CredentialAnswer
    public let secret: String

    public init(credential: CredentialAnswer, secret: String) {
        (self.credential, self.secret) = (credential, secret)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == MadeCredentialAnswer {
        try fields.ok()
        credential = try fields("credential", \.credential)
        secret = try fields("secret", \.secret, "Shown once.")
    }
}

/// The credentials of the app.
public struct CredentialListAnswer: AnswerBody {
    public let credentials: [CredentialAnswer]

    public init(credentials: [CredentialAnswer]) {
        self.credentials = credentials
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == CredentialListAnswer {
        try fields.ok()
        credentials = try fields("credentials", \.credentials)
    }
}
