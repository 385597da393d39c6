public import LiveActivity

/// Who is signed in: an app, and the credential by which it was proved.
public struct ConsoleIdentity: Sendable, Hashable {
    public var app: AppKey
    /// For people, such as `master secret`.
    public var credential: String
    /// Derived from the secret. It no longer fits once the secret has changed, and this ends the session.
    public var proof: String

    public init(app: AppKey, credential: String, proof: String) {
        (self.app, self.credential, self.proof) = (app, credential, proof)
    }
}
