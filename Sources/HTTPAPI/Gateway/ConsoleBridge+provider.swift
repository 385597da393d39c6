import Console
import LiveActivity
import Store
import Threads

/// The provider of OpenID Connect, for the console: its words for failures, and the rights of a person's groups.
extension ConsoleBridge {
    /// The provider of the settings. Nil: they name none.
    var provider: ConsoleProvider? {
        guard let provider = live.current.parts.openID else { return nil }
        let options = provider.options
        let name = options.shownName
        return ConsoleProvider(
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
            })
    }

    /// The rights that the settings give a person's groups now. Nil: none, or the session has lasted long enough.
    func standing(_ identity: ConsoleIdentity, _ person: ConsolePerson, _ now: Int64) -> ConsoleIdentity? {
        let options = live.current.configuration.openID
        let end = person.signedIn + options.sessionLife.milliseconds
        guard options.issuer != nil, options.proof == identity.proof, end > now,
            let access = options.access(of: person.groups, to: identity.app)
        else { return nil }
        // Credentials that the person makes end with the session, and so with the person's groups.
        return ConsoleIdentity(
            app: identity.app, credentialID: ConsolePerson.credentialID, proof: identity.proof, scopes: access.scopes,
            namePrefix: access.namePrefix, expires: end, person: person)
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
