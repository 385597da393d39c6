/// The answer of one sentinel: which server it takes for the primary, and how it judges that server.
struct SentinelAnswer: Hashable, Sendable {
    /// The server that clients should use. During a failover it is the new primary as soon as that one is promoted.
    var primary: RedisAddress
    /// The number of the configuration. Each failover makes a higher one. Nil if the sentinel does not tell it.
    var epoch: Int?
    /// The server to which the next two fields belong. During a failover it is the old primary.
    var judged: RedisAddress?
    /// Whether this sentinel is replacing the judged server.
    var isFailingOver = false
    /// For how long this sentinel, or most of them, could not reach the judged server. Nil if it can.
    var downFor: Duration?

    /// The questions of which an answer is made.
    static func questions(_ primary: String) -> [RedisCommand] {
        ["get-master-addr-by-name", "master"].map { RedisCommand("SENTINEL", [$0, .string(primary)]) }
    }

    init(primary: RedisAddress, epoch: Int? = nil) { (self.primary, self.epoch, judged) = (primary, epoch, primary) }

    /// Reads the replies to `questions`.
    /// - Throws: an error reply, or `unexpectedReply`. The second question may be refused, so its reply never throws.
    init(_ replies: [RedisReply], name: String) throws(RedisError) {
        if replies[0].isNil { throw .unknownPrimary("it knows no primary called \(name)") }
        let parts = try replies[0].array()
        guard parts.count == 2, let named = Self.address(try parts[0].string(), try parts[1].string()) else {
            throw .unexpectedReply("it names no address")
        }
        primary = named
        let words = (try? replies[1].array())?.map { (try? $0.string()) ?? "" } ?? []
        var fields: [String: String] = [:]
        for index in stride(from: 0, to: words.count - 1, by: 2) { fields[words[index]] = words[index + 1] }
        epoch = fields["config-epoch"].flatMap(Int.init)
        judged = Self.address(fields["ip"] ?? "", fields["port"] ?? "")
        let flags = Set((fields["flags"] ?? "").split(separator: ",").map(String.init))
        isFailingOver = flags.contains("failover_in_progress")
        if !flags.isDisjoint(with: ["s_down", "o_down"]) {
            let since = (fields["s-down-time"] ?? fields["o-down-time"]).flatMap(Int.init) ?? 0
            downFor = .milliseconds(max(0, since))
        }
    }

    private static func address(_ host: String, _ port: String) -> RedisAddress? {
        guard let port = Int(port), (1...65_535).contains(port), !host.isEmpty else { return nil }
        return .tcp(host: host, port: port)
    }

    /// A server that is down for longer, but answers us, is not replaced: the sentinels lack a password, a majority or
    /// a replica. Then it is used as it was before they lost it.
    private static let longestDown = Duration.seconds(60)

    fileprivate func judgesDown(_ address: RedisAddress) -> Bool {
        judged == address && (downFor.map { $0 < Self.longestDown } ?? false)
    }
    fileprivate func replaces(_ address: RedisAddress) -> Bool { judged == address && isFailingOver }
}

/// Decisions about the latest answers of all sentinels that answer. If none answers, a connection stays where it is.
extension [SentinelAnswer] {
    /// The server that is the primary. Nil without answers.
    ///
    /// The answers with the newest configuration count, because every sentinel takes over the newest one that it hears
    /// of. Among these, or if one of them tells no number, the majority counts.
    /// - Parameter favourite: it wins if no other server has more answers.
    func primary(favourite: RedisAddress? = nil) -> RedisAddress? {
        let newest = allSatisfy { $0.epoch != nil } ? compactMap(\.epoch).max() : nil
        var votes: [(address: RedisAddress, count: Int)] = favourite.map { [($0, 0)] } ?? []
        for answer in self where newest == nil || answer.epoch == newest {
            if let place = votes.firstIndex(where: { $0.address == answer.primary }) {
                votes[place].count += 1
            } else {
                votes.append((answer.primary, 1))
            }
        }
        let most = votes.map(\.count).max() ?? 0
        return votes.first { $0.count == most && most > 0 }?.address
    }

    /// The reason why a server must not be used as the primary. Nil if it may.
    /// - Parameter isInUse: whether a connection to it exists. It is left only for a failover that is certain. A new
    ///   connection also keeps away from a server that came back while the sentinels replace it.
    func objection(to address: RedisAddress, isInUse: Bool) -> String? {
        guard let primary = primary(favourite: address) else { return nil }
        if primary != address { return "the sentinels name \(primary) as the primary" }
        let isDown = 2 * count(where: { $0.judgesDown(address) }) > count
        // A sentinel that alone does not reach the server says so too, but others will not elect it.
        if contains(where: { $0.replaces(address) && (!isInUse || isDown || !$0.judgesDown(address)) }) {
            return "a sentinel is replacing it, the failover is not complete"
        }
        if isDown, !isInUse { return "the sentinels say that it is down (s_down)" }
        return nil
    }
}
