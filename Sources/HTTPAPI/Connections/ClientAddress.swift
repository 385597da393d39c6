import HTTPTypes

/// The address from which a request comes, and whether that is this machine.
struct ClientAddress: Sendable, Hashable {
    /// IPv4, IPv6, or `local` for a unix socket.
    var text: String
    /// The connection comes from this machine, and no trusted proxy names another client. It is an operator's, or the
    /// connection of a proxy that `gateway.trusted_proxies` does not name. All clients of this proxy would be counted
    /// as one.
    var isOwn: Bool
    /// The connection comes from this machine, and no header tells of a proxy.
    var isOperator: Bool

    /// - Parameter peer: the address of the connection; nil: a unix socket.
    init(peer: String?, headers: HTTPFields = [:], trusted: TrustedProxies = TrustedProxies()) {
        let own = peer.map(Self.isLoopback) ?? true
        text = peer.map { trusted.client(of: $0, forwarded: headers[values: .forwardedFor]) } ?? "local"
        // A trusted proxy may be told any address by its client, this machine's too.
        isOwn = own && text == peer ?? "local"
        isOperator = isOwn && !Self.proxyHeaders.contains { headers[$0] != nil }
    }

    /// The network by which a share of a limit is counted. Nil: an operator on this machine, because the limit does not
    /// apply to operators.
    var countedNetwork: String? { isOperator ? nil : network }

    /// The address by which a client is counted.
    var network: String { AddressLimit.network(of: text) }

    private static let proxyHeaders: [HTTPField.Name] = [
        .forwardedFor, .forwardedProto, .forwarded, .via, .realAddress,
    ]

    private static func isLoopback(_ address: String) -> Bool {
        address == "::1" || AddressLimit.network(of: address).hasPrefix("127.")
    }
}
