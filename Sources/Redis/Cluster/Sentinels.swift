/// Redis Sentinel: several processes that agree on which server is the primary. They are asked for each new connection,
/// so reconnecting follows a failover. Source: https://redis.io/docs/latest/develop/reference/sentinel-clients/
struct Sentinels: Sendable, Hashable, CustomStringConvertible {
    let addresses: [RedisAddress]
    /// The sentinels' name of the primary.
    let primary: String
    /// The sentinels' own password.
    let password: String?

    /// Reads the parts of a URL. `hosts` is `host[:port],…`, and `query` is `sentinel_password=…` or nil.
    init(hosts: Substring, primary: Substring, query: Substring?) throws(RedisURLError) {
        let addresses = try RedisURL.addresses(hosts, port: 26_379)
        let name = try RedisURL.decoded(primary, part: "primary's name")
        // Accept the same bytes as `sentinel monitor` does.
        guard !name.isEmpty, name.utf8.allSatisfy(\.isHostByte) else {
            throw RedisURLError(
                "behind the sentinels stands the name they know the primary by, and perhaps a database: "
                    + "redis+sentinel://host1,host2/mymaster/0")
        }
        self.addresses = addresses
        self.primary = name
        let parameter = "sentinel_password="
        guard let query else {
            password = nil
            return
        }
        guard query.hasPrefix(parameter), !query.contains("&"), query.count > parameter.count else {
            throw RedisURLError("redis+sentinel:// knows only ?sentinel_password=… after the path")
        }
        password = try RedisURL.decoded(query.dropFirst(parameter.count), part: "sentinels' password")
    }

    /// Without the password.
    var description: String { addresses.map(\.description).joined(separator: ",") + "/" + primary }

    /// Asks the sentinels one after the other for the primary's address.
    /// After a failed attempt it begins with the next sentinel: the previous one may not know of a failover yet.
    /// - Parameter turn: how many attempts have failed before this one.
    func address(turn: Int, _ settings: ConnectionSettings, _ mailbox: Mailbox) throws(LinkFailure) -> RedisAddress {
        var failures: [String] = []
        var remedy: String?
        for offset in addresses.indices {
            let sentinel = addresses[(turn + offset) % addresses.count]
            do throws(LinkFailure) { return try ask(sentinel, settings, mailbox) } catch {
                if mailbox.isClosing { throw error }
                var text = error.why
                if case .insecure(let why, let what) = error { (text, remedy) = (why, what) }
                failures.append("sentinel \(sentinel): \(text)")
            }
        }
        if let remedy { throw .insecure(failures.joined(separator: "; "), remedy: remedy) }
        throw .broken(failures.joined(separator: "; "))
    }

    private func ask(
        _ sentinel: RedisAddress, _ settings: ConnectionSettings, _ mailbox: Mailbox
    ) throws(LinkFailure) -> RedisAddress {
        let timeout = settings.options.connectTimeout
        var link = try RedisLink(sentinel, settings, mailbox)
        let question = RedisCommand("SENTINEL", ["get-master-addr-by-name", .string(primary)])
        let replies = try link.exchange(
            (password.map { [RedisCommand("AUTH", [.string($0)])] } ?? []) + [question], within: timeout, mailbox)
        for reply in replies { if let error = reply.error { throw .refused(error) } }
        guard let answer = replies.last, !answer.isNil else { throw .broken("it knows no primary called \(primary)") }
        guard let parts = try? answer.array(), parts.count == 2, let host = try? parts[0].string(),
            let port = (try? parts[1].string()).flatMap(Int.init), (1...65_535).contains(port), !host.isEmpty
        else { throw .protocolViolation("it names no address") }
        return .tcp(host: host, port: port)
    }
}
