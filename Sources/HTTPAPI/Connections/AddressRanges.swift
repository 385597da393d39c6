import Glibc

/// Addresses and networks, IPv4 and IPv6.
public struct AddressRanges: Sendable, Hashable {
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
    private let networks: [Network]

    /// Has no address.
    public init() { networks = [] }

    /// Reads a list of addresses and ranges. Nil for a text that is not as `rule` says. An empty text has no address.
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

    public var isEmpty: Bool { networks.isEmpty }

    func contains(_ address: String) -> Bool {
        guard !networks.isEmpty, let bytes = Self.bytes(address) else { return false }
        return networks.contains { $0.contains(bytes) }
    }

    /// Whether a text is one address, not a network.
    public static func isAddress(_ text: String) -> Bool { bytes(text) != nil }

    /// The 16 bytes of an address. IPv4 has the form in which IPv6 maps it.
    static func bytes(_ text: String) -> [UInt8]? {
        guard text.utf8.count <= 45 else { return nil }
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET6, text, &bytes) == 1 { return bytes }
        var four = [UInt8](repeating: 0, count: 4)
        guard inet_pton(AF_INET, text, &four) == 1 else { return nil }
        return [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF] + four
    }
}
