internal import Glibc

/// The IP address of a connected peer, whatever a name led to before.
public struct PeerAddress: Sendable, Hashable {
    /// 4 bytes of IPv4 or 16 of IPv6, in network order.
    public let bytes: [UInt8]

    /// An IPv4 address of 4 bytes, or an IPv6 address of 16. Nil for any other number of bytes.
    public init?(bytes: [UInt8]) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    /// Reads `93.184.216.34` or `2606:2800:220:1::1`.
    public init?(_ text: String) {
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, text, &bytes) == 1 {
            self.init(bytes: Array(bytes[..<4]))
        } else if inet_pton(AF_INET6, text, &bytes) == 1 {
            self.init(bytes: bytes)
        } else {
            return nil
        }
    }

    /// Reads a `sockaddr`. Nil for another family.
    init?(_ address: UnsafeRawPointer, length: Int) {
        switch Int32(address.loadUnaligned(as: sa_family_t.self)) {
        case AF_INET where length >= MemoryLayout<sockaddr_in>.size:
            let place = MemoryLayout<sockaddr_in>.offset(of: \.sin_addr) ?? 4
            self.init(bytes: (0..<4).map { address.load(fromByteOffset: place + $0, as: UInt8.self) })
        case AF_INET6 where length >= MemoryLayout<sockaddr_in6>.size:
            let place = MemoryLayout<sockaddr_in6>.offset(of: \.sin6_addr) ?? 8
            self.init(bytes: (0..<16).map { address.load(fromByteOffset: place + $0, as: UInt8.self) })
        default: return nil
        }
    }

    /// Whether it is a unicast address of the public Internet (IANA's special-purpose registries): not of this machine
    /// or its links, of private or shared networks, of a cloud's metadata service, documentation or multicast. An IPv6
    /// address that stands for an IPv4 address is judged as that one.
    public var isPublic: Bool {
        if bytes.count == 4 { return !Self.specialV4.contains { Self.isIn(bytes, $0.network, $0.bits) } }
        // NAT64 and 6to4 hold the IPv4 address to which packets go.
        if Self.isIn(bytes, [0, 0x64, 0xFF, 0x9B] + Self.zeros(8), 96) { return Self.isPublicV4(bytes[12...]) }
        if Self.isIn(bytes, [0x20, 0x02], 16) { return Self.isPublicV4(bytes[2..<6]) }
        // Only 2000::/3 is global unicast. This rule leaves out ::1, IPv4-mapped, unique local, link-local and
        // multicast.
        guard Self.isIn(bytes, [0x20], 3) else { return false }
        return !Self.specialV6.contains { Self.isIn(bytes, $0.network, $0.bits) }
    }

    private static func isPublicV4(_ bytes: ArraySlice<UInt8>) -> Bool {
        PeerAddress(bytes: Array(bytes))?.isPublic == true
    }
    private static func zeros(_ count: Int) -> [UInt8] { Array(repeating: 0, count: count) }

    private static let specialV4: [(network: [UInt8], bits: Int)] = [
        ([0], 8), ([10], 8), ([100, 64], 10), ([127], 8), ([169, 254], 16), ([172, 16], 12), ([192, 0, 0], 24),
        ([192, 0, 2], 24), ([192, 88, 99], 24), ([192, 168], 16), ([198, 18], 15), ([198, 51, 100], 24),
        ([203, 0, 113], 24), ([224], 4), ([240], 4),
    ]
    private static let specialV6: [(network: [UInt8], bits: Int)] = [
        // 2001::/23 holds Teredo and other protocols, 2001:db8::/32 and 3fff::/20 are for documentation.
        ([0x20, 0x01, 0x00], 23), ([0x20, 0x01, 0x0D, 0xB8], 32), ([0x3F, 0xFF, 0x00], 20),
    ]

    /// Whether an address begins with the first `bits` of a network. Missing bytes of the network are 0.
    private static func isIn(_ bytes: [UInt8], _ network: [UInt8], _ bits: Int) -> Bool {
        (0..<(bits + 7) / 8).allSatisfy { index in
            let mask = UInt8(truncatingIfNeeded: 0xFF00 >> min(8, bits - 8 * index))
            return (bytes[index] ^ (index < network.count ? network[index] : 0)) & mask == 0
        }
    }
}

extension PeerAddress: CustomStringConvertible {
    public var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let family = bytes.count == 4 ? AF_INET : AF_INET6
        guard inet_ntop(family, bytes, &text, socklen_t(text.count)) != nil else { return "?" }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
