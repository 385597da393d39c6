import Delivery
internal import Lanes
internal import LiveActivity
internal import Logging
internal import OpenSSL

/// The provider tokens of an app in the form that lanes carry.
struct ProviderCredentials: CredentialSource {
    let tokens: ProviderTokenSource
    /// For the log.
    let origin: String
    let logger: Logger

    func current() throws(CredentialError) -> PlatformCredential {
        do { return PlatformCredential(try tokens.current()) } catch { throw CredentialError(error) }
    }

    func replacement(
        of refused: PlatformCredential, after rejection: Rejection
    ) throws(CredentialError) -> PlatformCredential? {
        let token = ProviderToken(jwt: refused.secret, issuedAt: refused.issuedAt)
        do {
            switch rejection.verdict {
            case .renewCredential: return try tokens.renew(ifCurrent: token).map { PlatformCredential($0) }
            case .useEarlierCredential: return tokens.fallBack(from: token).map { PlatformCredential($0) }
            case .haltApp: return try takeOver(from: token, rejection).map { PlatformCredential($0) }
            default: return nil
            }
        } catch {
            throw CredentialError(error)
        }
    }

    private func takeOver(
        from token: ProviderToken, _ rejection: Rejection
    ) throws(SigningKeyError) -> ProviderToken? {
        guard let next = try tokens.takeOver(from: token) else { return nil }
        if let keyIDs = next.keyIDs {
            logger.warning(
                "APNs refuses an app's key; the app's other key signs from now on",
                metadata: [
                    "origin": "\(origin)", "reason": "\(rejection.reason)", "refused": "\(keyIDs.refused)",
                    "key": "\(keyIDs.next)",
                ])
        }
        return next.token
    }

    /// APNs takes the tokens of one key on a connection (403 UnrelatedKeyIdInToken).
    func connections(of credential: PlatformCredential) -> Substring { credential.secret.prefix { $0 != "." } }
}

extension PlatformCredential {
    init(_ token: ProviderToken) { self.init(scheme: "bearer", secret: token.jwt, issuedAt: token.issuedAt) }
}
