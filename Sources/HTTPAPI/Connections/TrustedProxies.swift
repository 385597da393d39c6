/// The proxies whose `X-Forwarded-For` is believed. Everybody else could write any address there.
public struct TrustedProxies: Sendable, Hashable {
    /// The most entries of `X-Forwarded-For` that are read.
    private static let mostHops = 32
    private let ranges: AddressRanges

    /// Makes the proxies of some ranges. Without ranges nobody is trusted.
    public init(_ ranges: AddressRanges = AddressRanges()) { self.ranges = ranges }

    public var isEmpty: Bool { ranges.isEmpty }

    /// The client's address: the connection's, or the address that the last proxy in a row of trusted proxies was told.
    /// - Parameter forwarded: the lines of `X-Forwarded-For`, in their order.
    func client(of peer: String, forwarded: [String]) -> String {
        guard ranges.contains(peer) else { return peer }
        var client = peer
        let hops = forwarded.joined(separator: ",").split(separator: ",", omittingEmptySubsequences: false)
        for hop in hops.reversed().prefix(Self.mostHops) {
            guard let address = Self.address(hop) else { break }
            client = address
            if !ranges.contains(address) { break }
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
        return AddressRanges.bytes(text) == nil ? nil : text
    }
}
