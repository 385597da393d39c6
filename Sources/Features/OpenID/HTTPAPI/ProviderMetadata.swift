import StrictJSON

/// The words of a provider about itself, at `/.well-known/openid-configuration` (OpenID Connect Discovery 1.0, 3).
struct ProviderMetadata: Sendable, Hashable {
    var authorizationEndpoint: String
    var tokenEndpoint: String
    var keys: String
    /// Whether the client's secret goes into the body, because the provider does not take HTTP Basic.
    var takesSecretInBody: Bool

    init(_ document: [UInt8], issuer: String) throws(OpenIDFailure) {
        guard let body = try? JSONDocument(document).root.object() else {
            throw OpenIDFailure("its discovery document is no JSON object")
        }
        guard body.text("issuer") == issuer else { throw OpenIDFailure("its discovery document names another issuer") }
        func address(_ key: String) throws(OpenIDFailure) -> String {
            // A provider elsewhere must not lead requests to services of this machine.
            guard let text = body.text(key), OpenIDOptions.isAddress(text),
                OpenIDOptions.isLocal(issuer) || !OpenIDOptions.isLocal(text)
            else { throw OpenIDFailure("its discovery document has no usable \(key)") }
            return text
        }
        authorizationEndpoint = try address("authorization_endpoint")
        tokenEndpoint = try address("token_endpoint")
        keys = try address("jwks_uri")
        let methods = body.list("token_endpoint_auth_methods_supported").compactMap { try? $0.string() }
        takesSecretInBody = !methods.contains("client_secret_basic") && methods.contains("client_secret_post")
    }
}

/// Why a person cannot sign in through the provider.
struct OpenIDFailure: Error, Hashable {
    enum Kind: Hashable {
        /// The provider does not answer, or not as it should.
        case away
        /// The provider's answer proves nobody.
        case refused
        /// Others sign in at this moment.
        case busy
    }

    var kind: Kind
    /// For the log, without codes, tokens and secrets.
    var reason: String

    init(_ reason: String, _ kind: Kind = .away) { (self.reason, self.kind) = (reason, kind) }
}
