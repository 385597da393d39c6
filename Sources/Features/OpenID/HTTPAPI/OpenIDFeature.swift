import Console
import LiveActivity
import Store
import Synchronization
import Threads

extension GatewayConfiguration {
    /// The provider by which people sign in to the console.
    public var openID: OpenIDOptions {
        get { extras[OpenIDOptions.self] ?? OpenIDOptions() }
        set { extras[OpenIDOptions.self] = newValue }
    }
}

extension GatewayFeature {
    static let openID = GatewayFeature(signInWay: { live in
        let kept = Mutex<OpenIDProvider?>(nil)
        return .openID(
            {
                let options = live.current.configuration.openID
                let provider = kept.withLock { kept in
                    // The provider's documents are kept, unless the options name another provider.
                    if kept?.options != options { kept = OpenIDProvider(options) }
                    return kept
                }
                return provider.map { ConsoleProvider($0, live.current.parts.store.console) }
            }, standing: { live.current.configuration.openID.standing($0, $1) })
    })
}

extension OpenIDOptions {
    /// The rights that the settings give a person's groups now. Nil: none, or the session has lasted long enough.
    fileprivate func standing(_ identity: ConsoleIdentity, _ now: Int64) -> ConsoleIdentity? {
        guard let person = identity.person, issuer != nil, proof == identity.proof,
            let access = access(of: person.groups, to: identity.app)
        else { return nil }
        let end = person.signedIn + sessionLife.milliseconds
        guard end > now else { return nil }
        // Credentials that the person makes end with the session, and so with the person's groups.
        return ConsoleIdentity(
            app: identity.app, credentialID: ConsolePerson.credentialID, proof: identity.proof, scopes: access.scopes,
            namePrefix: access.namePrefix, expires: end, person: person)
    }
}

/// The provider of OpenID Connect, for the console: its words for failures, and the groups of a person.
extension ConsoleProvider {
    fileprivate init(_ provider: OpenIDProvider, _ store: ConsoleStore) {
        let options = provider.options
        let name = options.shownName
        self.init(
            name: name, issuer: options.issuer ?? "", proof: options.proof, life: options.sessionLife,
            address: { attempt, network throws(ProviderFailure) in
                do throws(OpenIDFailure) { return try await provider.address(attempt, network) } catch {
                    throw ProviderFailure(error, name)
                }
            },
            redeem: { code, attempt, network, now throws(ProviderFailure) in
                do throws(OpenIDFailure) {
                    let token = try await provider.redeem(code, attempt, network, at: now)
                    let groups = token.groups(options.groupsClaim)
                    let known = groups.filter { group in options.access.contains { haveSameBytes($0.group, group) } }
                    let person = ConsolePerson(
                        name: token.person, subject: token.subject, groups: known, signedIn: now)
                    return ConsoleProvider.Visitor(
                        person: person, groups: groups.map(IDToken.clean), apps: options.apps(of: known))
                } catch {
                    throw ProviderFailure(error, name)
                }
            },
            keep: { try await store.begin(attempt: $0, $1, life: $2) }, take: { try await store.take(attempt: $0) })
    }
}

extension ProviderFailure {
    fileprivate init(_ failure: OpenIDFailure, _ name: String) {
        let (status, message) =
            switch failure.kind {
            case .away: (502, "\(name) does not answer as it should. Try again in a moment")
            case .refused: (401, "The answer of \(name) does not prove who you are. Sign in again")
            case .busy: (503, "Many people sign in at this moment. Load this page again in a moment")
            }
        self.init(status, "\(message), or sign in with a secret.", reason: failure.reason)
    }
}
