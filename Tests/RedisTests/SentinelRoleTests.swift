import Foundation
import Redis
import Synchronization
import TestSupport
import Testing

/// Tests that no connection stays with a primary that the sentinels replace, although that server still takes writes.
@Suite struct SentinelRoleTests {
    /// Writes one key after the other, and remembers which writes were answered.
    private final class Writer: Sendable {
        private struct State {
            var next = 0
            var answered: [Int] = []
            var isStopped = false
        }
        private let state = Mutex(State())
        var next: Int { state.withLock { $0.next } }

        func run(_ redis: RedisClient) async {
            while true {
                let number = state.withLock { state -> Int? in
                    defer { state.next += 1 }
                    return state.isStopped ? nil : state.next
                }
                guard let number else { return }
                if (try? await redis.send(RedisCommand("SET", ["w:\(number)", "1"]))) != nil {
                    state.withLock { $0.answered.append(number) }
                } else {
                    try? await Task.sleep(for: .milliseconds(5))
                }
            }
        }

        func stop() { state.withLock { $0.isStopped = true } }
        func answered(from first: Int) -> [Int] { state.withLock { $0.answered.filter { $0 >= first } } }

        /// The answered writes since `first` that a server does not have.
        func missing(from first: Int, at server: RedisServer) async throws -> [Int] {
            let client = RedisClient(url: server.tcpURL, logger: .quiet)
            let numbers = answered(from: first)
            let replies = try await client.pipeline(numbers.map { RedisCommand("EXISTS", ["w:\($0)"]) })
            await client.close()
            return try zip(numbers, replies).filter { try $1.integer() == 0 }.map(\.0)
        }
    }

    @Test func `in a planned failover all connections leave the old primary before it knows, and then lose nothing`()
        async throws
    {
        let pair = try await SentinelPair()
        var options = RedisOptions.patient
        options.clientName = "leaver"
        let redis = RedisClient(url: try pair.url(), options: options, logger: .quiet)
        let old = RedisClient(url: pair.first.tcpURL, logger: .quiet)
        func clients() async throws -> Int {
            try await old.send(RedisCommand("CLIENT", ["LIST"])).string()
                .split(separator: "\n").count { $0.contains(" name=leaver ") }
        }
        let (blocking, writer) = (redis.blockingConnection(), Writer())
        let read = RedisCommand("XREAD", ["BLOCK", 250_000, "STREAMS", "s", "$"])
        async let interrupted: RedisError? = {
            do throws(RedisError) { _ = try await blocking.send(read, blockingFor: .seconds(250)) } catch {
                return error
            }
            return nil
        }()
        async let writing: Void = writer.run(redis)
        try await eventually("two connections and the blocked one") { try await clients() == 3 }
        try await pair.settle(redis)
        try await pair.sentinel.failOver()
        try await eventually("the connections have left") { try await clients() == 0 }
        #expect(try await old.send(RedisCommand("ROLE"))[0].string() == "master", "it was demoted first")
        let first = writer.next
        try await eventually("writes are answered again") { writer.answered(from: first).count > 20 }
        writer.stop()
        await writing
        #expect(try await writer.missing(from: first, at: pair.second) == [])
        let error = await interrupted
        guard case .lost(let why) = error else {
            Issue.record("\(error as Any)")
            return
        }
        #expect(why.contains("left 127.0.0.1:\(pair.first.port ?? 0)"), "\(why)")
        blocking.close()
        await old.close()
        await redis.close()
    }

    /// As if systemd started it again at once. It still says that it is the primary, until a sentinel demotes it.
    @Test func `a primary that comes back while it is replaced gets no writes`() async throws {
        let pair = try await SentinelPair(append: true)
        let redis = RedisClient(url: try pair.url(), options: .patient, logger: .quiet)
        let sentinel = RedisClient(url: try RedisURL("redis://127.0.0.1:\(pair.sentinel.port)"), logger: .quiet)
        let writer = Writer()
        async let writing: Void = writer.run(redis)
        try await pair.settle(redis)
        pair.first.signal(SIGKILL)
        let first = writer.next + 1
        try await eventually("the failover begins", every: .milliseconds(5)) {
            try await pair.flags(sentinel).contains("failover_in_progress")
        }
        try await pair.first.restart()
        #expect(try pair.first.command("ROLE") == "*3")
        try await eventually("writes are answered again") { writer.answered(from: first).count > 20 }
        writer.stop()
        await writing
        #expect(try await writer.missing(from: first, at: pair.second) == [])
        #expect(try await pair.port(redis) == pair.second.port)
        await sentinel.close()
        await redis.close()
    }

    /// A connection that exists stays, because the sentinel may be the one that is cut off.
    @Test func `no new connection goes to a primary that its sentinels call down`() async throws {
        let pair = try await SentinelPair()
        let sentinel = RedisClient(url: try RedisURL("redis://127.0.0.1:\(pair.sentinel.port)"), logger: .quiet)
        let early = RedisClient(url: try pair.url(), connections: 1, logger: .quiet)
        let id = try await early.send(RedisCommand("CLIENT", ["ID"])).integer()
        // One sentinel of two replaces nothing, and a refused PING is no answer to it.
        #expect(try pair.sentinel.command("SENTINEL SET \(SentinelServer.primary) quorum 2") == "+OK")
        #expect(try pair.first.command("ACL SETUSER default -ping") == "+OK")
        try await eventually("the sentinel calls it down") { try await pair.flags(sentinel).contains("s_down") }
        let late = RedisClient(url: try pair.url(), connections: 1, logger: .quiet)
        await #expect {
            try await late.send(RedisCommand("SET", ["a", "1"]))
        } throws: {
            "\($0)".contains("the sentinels say that it is down")
        }
        #expect(try await early.send(RedisCommand("CLIENT", ["ID"])).integer() == id)
        for client in [late, early, sentinel] { await client.close() }
    }

    @Test func `without any sentinel connections stay, and the log says that a failover would not be noticed`()
        async throws
    {
        let pair = try await SentinelPair()
        let log = LogLines()
        let redis = RedisClient(url: try pair.url(), connections: 1, logger: log.logger)
        let id = try await redis.send(RedisCommand("CLIENT", ["ID"])).integer()
        pair.sentinel.stop()
        try await eventually("the silence was noticed") {
            log.all.contains { $0.contains("no sentinel answers") }
        }
        try await redis.send(RedisCommand("SET", ["a", "1"]))
        #expect(try await redis.send(RedisCommand("CLIENT", ["ID"])).integer() == id)
        await redis.close()
    }
}
