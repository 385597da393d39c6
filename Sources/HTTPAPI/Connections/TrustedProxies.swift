import Glibc

/// The proxies whose `X-Forwarded-For` is believed. Everybody else could write any address there.
public struct TrustedProxies: Sendable, Hashable {
    private struct Network: Sendable, Hashable {
        var bytes: [UInt8]
        /// How many leading bits count, of 128.
        var bits: Int

        func contains(_ address: [UInt8]) -> Bool {
            let whole = bits / 8
            guard address[..<whole] == bytes[..<whole] else { return false }
            return bits % 8 == 0 || (address[whole] ^ bytes[whole]) >> UInt8(8 - bits % 8) == 0
        }
    }

    public static let rule = "addresses or networks with commas between them, such as 10.0.0.0/8,127.0.0.1"
    /// The most entries of `X-Forwarded-For` that are read.
    private static let mostHops = 32
    private let networks: [Network]

    /// Trusts nobody.
    public init() { networks = [] }

    /// Nil for a text that is not as `rule` says. An empty text trusts nobody.
    public init?(_ text: String) {
        var networks: [Network] = []
        for part in text.split(separator: ",") {
            let parts = part.filter { $0 != " " }.split(separator: "/", omittingEmptySubsequences: false)
            guard (1...2).contains(parts.count), let bytes = Self.bytes(String(parts[0])) else { return nil }
            let isIPv4 = !parts[0].contains(":")
            let length = parts.count == 2 ? Int(parts[1]) : isIPv4 ? 32 : 128
            guard let length, (0...(isIPv4 ? 32 : 128)).contains(length) else { return nil }
            networks.append(Network(bytes: bytes, bits: isIPv4 ? length + 96 : length))
        }
        self.networks = networks
    }

    func contains(_ address: String) -> Bool {
        guard !networks.isEmpty, let bytes = Self.bytes(address) else { return false }
        return networks.contains { $0.contains(bytes) }
    }

    /// The client's address: that of the connection, or what the last proxy in a row of trusted ones was told.
    /// - Parameter forwarded: the lines of `X-Forwarded-For`, in their order.
    func client(of peer: String, forwarded: [String]) -> String {
        guard contains(peer) else { return peer }
        var client = peer
        let hops = forwarded.joined(separator: ",").split(separator: ",", omittingEmptySubsequences: false)
        for hop in hops.reversed().prefix(Self.mostHops) {
            guard let address = Self.address(hop) else { break }
            client = address
            if !contains(address) { break }
        }
        return client
    }

    /// An entry without its port: `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1` or `[2001:db8::1]:4711`.
    private static func address(_ hop: Substring) -> String? {
        var text = String(hop.filter { $0 != " " && $0 != "\t" })
        if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
            text = String(text[text.index(after: text.startIndex)..<end])
        } else if text.contains("."), text.count(where: { $0 == ":" }) == 1, let colon = text.firstIndex(of: ":") {
            text = String(text[..<colon])
        }
        return bytes(text) == nil ? nil : text
    }

    /// The 16 bytes of an address. IPv4 has the form in which IPv6 maps it.
    private static func bytes(_ text: String) -> [UInt8]? {
        guard text.utf8.count <= 45 else { return nil }
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET6, text, &bytes) == 1 { return bytes }
        var four = [UInt8](repeating: 0, count: 4)
        guard inet_pton(AF_INET, text, &four) == 1 else { return nil }
        return [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF] + four
    }
}
