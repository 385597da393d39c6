/// Connections of a lane on which each stream has a request that is not answered. A value without clock or connection.
struct ShutConnections: Sendable, Hashable {
    /// The most connections that stand aside.
    static let most = 4

    /// How many connections were passed in a row without any answer.
    private var inARow = 0
    private var notBefore = Int64.min
    /// The token of the last connection that brought no answer.
    private var lastToken: [UInt8]?

    func mayPass(now: Int64) -> Bool { now >= notBefore }

    /// Each further connection waits twice as long, because the server may answer nobody.
    mutating func passed(now: Int64, wait: Int64) {
        inARow += 1
        notBefore = now + wait << min(inARow, 6)
    }

    mutating func answered() { self = ShutConnections() }

    /// Whether a connection without any answer means an unreachable server. It may be the fault of its first token, so
    /// another one must have had the same fate.
    mutating func isSure(without token: [UInt8]) -> Bool {
        defer { lastToken = token }
        return lastToken.map { $0 != token } ?? false
    }
}
