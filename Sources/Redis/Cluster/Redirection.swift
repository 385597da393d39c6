/// The reply of a node to a command that is not for it.
struct Redirection: Hashable {
    let slot: HashSlot
    /// The node that gets the command.
    let address: RedisAddress
    /// Whether the slot is only being moved, and these keys are at the new node or will be. If not, the node owns it.
    let isAsking: Bool

    /// Reads `MOVED 3999 127.0.0.1:6381`, or the same with ASK.
    init?(_ error: RedisError?, from node: RedisAddress) {
        guard case .server(let code, let message) = error, code == "MOVED" || code == "ASK" else { return nil }
        let words = message.split(separator: " ")
        guard words.count >= 3, let slot = Int(words[1]).flatMap(HashSlot.init),
            let colon = words[2].lastIndex(of: ":"), let port = Int(words[2][colon...].dropFirst()),
            let address = RedisAddress(host: String(words[2][..<colon]), port: port, saidBy: node)
        else { return nil }
        (self.slot, self.address, isAsking) = (slot, address, code == "ASK")
    }

    /// Says that a redirection leads to no address, as `MOVED 3999 ?:6379` and a bare `MOVED` do. Nil for other errors.
    static func unusable(_ error: RedisError?, from node: RedisAddress) -> RedisError? {
        guard case .server(let code, let message) = error, code == "MOVED" || code == "ASK" else { return nil }
        return .server(
            code: "NOADDRESS", message: "\(node) names no address that can be used: \(message.debugDescription)")
    }
}
