/// One question about a call before its handler runs. The lists are the order, for HTTP and for the console.
enum RequestGuard: Sendable, Hashable, CaseIterable {
    /// Whether all that read the request read it in the same way.
    case form
    /// The endpoint.
    case route
    /// The owner of the secret or token. Guesses are limited.
    case caller
    /// The rate of the address, for callers whom everybody can be.
    case addressRate
    /// The secret of `/readyz` and `/metrics`.
    case monitor
    /// Whether the endpoint takes this kind of caller.
    case access
    /// The addresses from which servers may call. After this guard the caller is known.
    case serverAddress
    case credentialRate
    /// The scope and the names of a credential.
    case rights
    case query
    /// Reads the body before the request counts as running: a slow body must not block other requests.
    case body
    /// Whether one more request may run.
    case capacity

    /// Each request passes these, to find its endpoint.
    static let ofAll: [Self] = [.form, .route]
    /// A call that needs no secret passes these next.
    static let ofOpenCalls: [Self] = [.addressRate, .monitor, .capacity]
    /// Every other call passes these next.
    static let ofCalls: [Self] = [
        .caller, .addressRate, .access, .serverAddress, .credentialRate, .rights, .query, .body, .capacity,
    ]
    /// A call of the console passes these alone. Its page has passed guards of its own, and has a session.
    static let ofConsole: [Self] = [.route, .access, .rights, .query, .capacity]
}
