/// Tells the connections of a client when they have to leave their server, because its role has changed.
protocol ServerWatch: Sendable {
    /// Watches a connection from now on: `mailbox.hasNews` is set when it should ask for an `objection`.
    func follow(_ mailbox: Mailbox, at address: RedisAddress)
    /// The server that a new connection goes to, if it has to be asked for. Blocks the connection's thread.
    func primary(for mailbox: Mailbox) throws(LinkFailure) -> RedisAddress?
    /// Ends the watch over a connection that has ended or could not be made.
    func leave(_ mailbox: Mailbox)
    /// The reason why a connection has to leave its server. Nil if it stays.
    func objection(to address: RedisAddress) -> String?
}

extension ServerWatch {
    /// Most URLs name the server, so nobody has to be asked.
    func primary(for mailbox: Mailbox) throws(LinkFailure) -> RedisAddress? { nil }
}
