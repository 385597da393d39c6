/// The owner of each slot, as one node of the cluster reported it.
struct SlotMap: Sendable {
    private static let nobody = UInt16.max

    /// Nodes that own slots, according to this report or to a redirection.
    private(set) var primaries: [RedisAddress] = []
    private(set) var replicas: [RedisAddress] = []
    /// An index into `primaries` for each slot.
    private var owners = [UInt16](repeating: nobody, count: HashSlot.count)

    /// The owner's index in `primaries`. Nil if no node serves the slot.
    func owner(of slot: HashSlot) -> Int? {
        let index = owners[Int(slot.number)]
        return index == Self.nobody ? nil : Int(index)
    }

    subscript(slot: HashSlot) -> RedisAddress? { owner(of: slot).map { primaries[$0] } }
    mutating func move(_ slot: HashSlot, to address: RedisAddress) { owners[Int(slot.number)] = index(of: address) }

    /// The slots that have another owner in a newer map.
    func moved(in newer: SlotMap) -> [HashSlot] {
        // Nearly always, and cheaper than a look at each slot.
        if owners == newer.owners, primaries == newer.primaries { return [] }
        return (0..<HashSlot.count).compactMap(HashSlot.init).filter { slot in
            newer[slot].map { $0 != self[slot] } ?? false
        }
    }

    private mutating func index(of address: RedisAddress) -> UInt16 {
        if let index = primaries.firstIndex(of: address) { return UInt16(index) }
        primaries.append(address)
        return UInt16(primaries.count - 1)
    }

    /// Reads the reply to CLUSTER SLOTS: `[[first, last, [host, port, id, metadata…], replica…]…]`.
    ///
    /// A node that does not know its address, or must not show it, reports no host. It then has the host we `asked`.
    init(_ reply: RedisReply, asked: RedisAddress) throws(RedisError) {
        for range in try reply.array() {
            let parts = try range.array()
            let (first, last) = (try range[0].integer(), try range[1].integer())
            guard parts.count >= 3, (0..<HashSlot.count).contains(first), (first..<HashSlot.count).contains(last) else {
                throw .unexpectedReply("CLUSTER SLOTS with a range that is none")
            }
            guard let primary = try Self.address(parts[2], asked: asked) else { continue }
            let owner = index(of: primary)
            for slot in first...last { owners[slot] = owner }
            for part in parts.dropFirst(3) {
                if let replica = try Self.address(part, asked: asked), !replicas.contains(replica) {
                    replicas.append(replica)
                }
            }
        }
    }

    private static func address(_ node: RedisReply, asked: RedisAddress) throws(RedisError) -> RedisAddress? {
        let port = try node[1].integer()
        let host = node[0].isNil ? "" : try node[0].string()
        return RedisAddress(host: host, port: port, saidBy: asked)
    }
}

extension RedisAddress {
    /// Reads an address that one node reported. Nil for `?`: that node must show a name but has none.
    init?(host: String, port: Int, saidBy asked: RedisAddress) {
        guard (1...65_535).contains(port), host != "?" else { return nil }
        if host.isEmpty {
            guard case .tcp(let own, _) = asked else { return nil }
            self = .tcp(host: own, port: port)
        } else {
            self = .tcp(host: host, port: port)
        }
    }
}
