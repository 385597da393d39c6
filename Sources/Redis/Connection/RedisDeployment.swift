/// One server or a cluster, behind the calls of `RedisClient` with the same names.
protocol RedisDeployment: Sendable {
    /// The result of one command: its reply, and the reply to the command that was sent after it.
    typealias Outcome = Result<(reply: RedisReply, last: RedisReply), RedisError>
    typealias NodeReplies = (node: String?, replies: [RedisReply])

    /// The minor version of TLS. Nil without TLS, and before the first connection.
    var tlsMinorVersion: Int? { get }

    func pipeline(_ commands: [RedisCommand], inStepsAt: [Int]) async throws(RedisError) -> [RedisReply]
    func pipeline(_ commands: [RedisCommand], eachNodeThen: RedisCommand) async throws(RedisError) -> [Outcome]
    func pipeline(eachOf commands: [RedisCommand]) async throws(RedisError) -> [Result<RedisReply, RedisError>]
    /// Whether the key's server is known to be away.
    func isAway(_ key: RedisKey) -> Bool
    func transaction(_ commands: [RedisCommand]) async throws(RedisError) -> [RedisReply]
    func onEachPrimary(_ commands: [RedisCommand]) async throws(RedisError) -> [NodeReplies]
    func end() async
}
