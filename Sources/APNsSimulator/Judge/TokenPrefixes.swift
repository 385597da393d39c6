/// The beginnings of tokens. A request is looked up in about the same time among one as among thousands.
struct TokenPrefixes: Sendable {
    /// By length in digits.
    private var prefixes: [Int: Set<Substring>] = [:]

    /// - Parameter prefixes: lowercase hex
    init(_ prefixes: [String] = []) {
        self.prefixes = Dictionary(grouping: prefixes.map { $0[...] }) { $0.utf8.count }.mapValues { Set($0) }
    }

    /// Whether the request is for a token that begins with one of these.
    func match(_ head: RequestHead) -> Bool {
        if prefixes.isEmpty { return false }
        let hex = head.path.utf8.dropFirst("/3/device/".utf8.count)
        return prefixes.contains { length, prefixes in prefixes.contains(Substring(hex.prefix(length))) }
    }
}
