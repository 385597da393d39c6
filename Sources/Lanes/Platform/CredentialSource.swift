public import Delivery

/// The credentials of one app, for all lanes that send for it. A lane's thread calls it, at most once for each wake-up,
/// and blocks until it returns.
public protocol CredentialSource: Sendable {
    /// The credential to send with from now on.
    func current() throws(CredentialError) -> PlatformCredential
    /// A credential for the repetition of a request whose own was refused, as the verdict asks:
    ///
    /// - `renewCredential`: a new one, because the refused one has expired
    /// - `useEarlierCredential`: the one before, because the refused one is one too many
    /// - `haltApp`: one of another key
    ///
    /// Many requests may be refused with one credential, so a source that has replaced it already returns `current`.
    /// - Returns: nil if there is none: the request and the rest of its page get the answer
    func replacement(
        of refused: PlatformCredential, after rejection: Rejection
    ) throws(CredentialError) -> PlatformCredential?
    /// Names the connections that may carry the credential. A connection carries credentials of one name.
    func connections(of credential: PlatformCredential) -> Substring
}

extension CredentialSource {
    /// A platform whose connections may carry any credential.
    public func connections(of credential: PlatformCredential) -> Substring { "" }
}

/// The text that authenticates a request: `authorization: <scheme> <secret>`.
public struct PlatformCredential: Sendable, Hashable {
    public var scheme: String
    /// Traces show its first characters alone.
    public var secret: String
    /// When it was made, epoch seconds.
    public var issuedAt: Int

    public init(scheme: String, secret: String, issuedAt: Int) {
        (self.scheme, self.secret, self.issuedAt) = (scheme, secret, issuedAt)
    }

    static let field = "authorization"
    /// The value of the field.
    var value: String { "\(scheme) \(secret)" }
    /// The value in a trace.
    var shortened: String { "\(scheme) \(Exchange.shortened(secret))" }
    /// The header fields of a push's requests.
    func fields(with push: PreparedPush) -> [(name: String, value: String)] {
        [(Self.field, value)] + push.fields.map { ($0.name, $0.value) }
    }
}

/// No credential could be made. The text says why.
public struct CredentialError: Error, Sendable, Hashable, CustomStringConvertible {
    public let description: String
    /// The platform's answer, if it refuses to give a credential at all. Nil: another attempt may help.
    public let refusal: Rejection?

    public init(_ error: some Error, refusal: Rejection? = nil) {
        description = "\(error)"
        self.refusal = refusal
    }
}
