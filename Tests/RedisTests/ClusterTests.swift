import Foundation
import TestSupport
import Testing

@testable import Redis

/// Tests real clusters. Each command finds its node, wherever that is.
@Suite struct ClusterTests {
    private static let add = RedisScript(
        name: "add", keys: ["key"], arguments: ["value"], body: "return redis.call('INCRBY', key, value)")
    private static let keys = (0..<60).map { "key-\($0)" }

    @Test func `commands pipelines and scripts reach every node`() async throws {
        let cluster = try await ClusterServers.start()
        // The first seed is dead, and the second is alive.
        let url = try RedisURL(
            "redis+cluster://127.0.0.1:\(try freePort()),127.0.0.1:\(cluster.primaries[1].port ?? 0)")
        let redis = RedisClient(url: url, scripts: [Self.add], logger: .quiet)
        let stored = try await redis.pipeline(Self.keys.map { RedisCommand("SET", [.string($0), .string("v\($0)")]) })
        #expect(try stored.allSatisfy { try $0.string() == "OK" })
        let read = try await redis.pipeline(Self.keys.map { RedisCommand("GET", [.string($0)]) })
        #expect(try read.map { try $0.string() } == Self.keys.map { "v\($0)" })
        for node in cluster.primaries {
            #expect(try await cluster.client(of: node).send(RedisCommand("DBSIZE")).integer() > 0)
        }

        // All nodes lose the script at once, and each loads it again.
        for node in cluster.primaries { try await cluster.client(of: node).send(RedisCommand("SCRIPT", ["FLUSH"])) }
        let sums = try await redis.pipeline(
            Self.keys.map { RedisCommand(Self.add, keys: ["key": RedisKey("n-\($0)")], ["value": 2]) })
        #expect(try sums.allSatisfy { try $0.integer() == 2 })

        let both = try await redis.transaction([
            RedisCommand(Self.add, keys: ["key": RedisKey("{a}1")], ["value": 5]), RedisCommand("INCR", ["{a}1"]),
        ])
        #expect(try both.map { try $0.integer() } == [5, 6])
        let nodes = try await redis.onEachPrimary([RedisCommand("DBSIZE")])
        #expect(Set(nodes.map(\.node)) == Set(cluster.primaries.map { "127.0.0.1:\($0.port ?? 0)" }))
        #expect(try await redis.send(RedisCommand("TIME", near: RedisKey("{q}"))).count == 2)

        // An error reply keeps its position. A command without a node is not sent at all.
        let mixed = try await redis.pipeline([
            RedisCommand("SET", ["foo", "1"]), RedisCommand("LLEN", ["foo"]), RedisCommand("GET", ["bar"]),
        ])
        #expect(mixed[1].error != nil && mixed[2].isNil)
        await #expect(throws: RedisError.unroutable("PING names no key by which a node of the cluster could be chosen"))
        {
            try await redis.pipeline([RedisCommand("INCR", ["foo"]), RedisCommand("PING")])
        }
        #expect(try await redis.send(RedisCommand("GET", ["foo"])).string() == "1")
        let parted = "a transaction has keys of two slots, its commands 1 and 2"
        await #expect(throws: RedisError.unroutable(parted)) {
            try await redis.transaction([RedisCommand("INCR", ["foo"]), RedisCommand("INCR", ["bar"])])
        }
        await redis.close()
        await #expect(throws: RedisError.closed) { try await redis.send(RedisCommand("GET", ["foo"])) }
    }

    @Test func `a slot that moves is followed`() async throws {
        let cluster = try await ClusterServers.start()
        let redis = RedisClient(url: cluster.url, scripts: [Self.add], logger: .quiet)
        let blocking = redis.blockingConnection()
        let tag = "{q}"
        let (source, slot) = (try await cluster.primary(of: tag), try await cluster.slot(of: tag))
        let target = try #require(cluster.primaries.first { $0 !== source })
        _ = try await redis.pipeline(["SET", "INCR"].map { RedisCommand($0, $0 == "SET" ? ["{q}a", "1"] : ["{q}b"]) })
        try await redis.send(RedisCommand("XGROUP", ["CREATE", "{q}s", "g", "$", "MKSTREAM"]))

        // The slot is being moved. One key is already at the new node, the others are not, and a new key is made there.
        try await cluster.beginMove(slot: slot, from: source, to: target)
        try await cluster.moveKeys(["{q}a"], from: source, to: target)
        let replies = try await redis.pipeline([
            RedisCommand("GET", ["{q}a"]), RedisCommand("GET", ["{q}b"]), RedisCommand("GET", ["elsewhere"]),
            RedisCommand(Self.add, keys: ["key": RedisKey("{q}new")], ["value": 3]), RedisCommand("INCR", ["{q}a"]),
        ])
        #expect(try replies[0].string() == "1" && replies[1].string() == "1" && replies[2].isNil)
        #expect(try replies[3].integer() == 3 && replies[4].integer() == 2)
        let there = try await redis.transaction([
            RedisCommand("INCR", ["{q}a"]), RedisCommand(Self.add, keys: ["key": RedisKey("{q}a")], ["value": 4]),
        ])
        #expect(try there.map { try $0.integer() } == [3, 7])

        // A reader that waits at the old owner moves to the new one when the slot does, and finds the entry there.
        let read = RedisCommand(
            "XREADGROUP", ["GROUP", "g", "c", "COUNT", 10, "BLOCK", 600_000, "STREAMS", "{q}s", ">"])
        async let entries = blocking.send(read, blockingFor: .seconds(600))
        try await eventually("the reader waits") {
            try await cluster.client(of: source).info(section: "clients")["blocked_clients"] == "1"
        }
        try await cluster.moveKeys(["{q}b", "{q}s"], from: source, to: target)
        try await cluster.endMove(slot: slot, from: source, to: target)
        try await eventually("the reader waits at the new owner") {
            try await cluster.client(of: target).info(section: "clients")["blocked_clients"] == "1"
        }
        try await redis.send(RedisCommand("XADD", ["{q}s", "1-1", "f", "v"]))
        #expect(try await entries[0][1][0][0].string() == "1-1")
        // Every kind of call gets MOVED now.
        let add = RedisCommand(Self.add, keys: ["key": RedisKey("{q}b")], ["value": 1])
        #expect(try await redis.send(add).integer() == 2)
        #expect(try await redis.transaction([RedisCommand("INCR", ["{q}b"])])[0].integer() == 3)
        // The interrupt must reach the new node, not the one where the reader began.
        async let nothing = blocking.send(read, blockingFor: .seconds(600))
        try await eventually("the reader waits again") {
            try await cluster.client(of: target).info(section: "clients")["blocked_clients"] == "1"
        }
        await blocking.interrupt()
        #expect(try await nothing.isNil)
        blocking.close()
        await redis.close()
    }

    @Test func `the watch over the slots keeps its connections`() async throws {
        let cluster = try await ClusterServers.start()
        let redis = RedisClient(url: cluster.url, logger: .quiet)
        try await redis.send(RedisCommand("SET", ["a", "1"]))
        let node = cluster.client(of: cluster.primaries[0])
        // Three nodes are asked in turn, so that a connection to this one has been there before.
        try await eventually("a connection that asked for the slots stays") {
            let list = try await node.send(RedisCommand("CLIENT", ["LIST"])).string()
            return list.split(separator: "\n").contains { line in
                let fields = line.split(separator: " ")
                let age = fields.first { $0.hasPrefix("age=") }.flatMap { Int($0.dropFirst(4)) } ?? 0
                return age > 1 && fields.contains { $0.hasPrefix("cmd=cluster") }
            }
        }
        for client in [redis, node] { await client.close() }
        cluster.stop()
    }

    @Test func `a primary that is killed is replaced by its replica`() async throws {
        let cluster = try await ClusterServers.start(replicated: true)
        let redis = RedisClient(url: cluster.url, scripts: [Self.add], logger: .quiet)
        let blocking = redis.blockingConnection()
        try await redis.send(RedisCommand("XGROUP", ["CREATE", "{q}s", "g", "$", "MKSTREAM"]))
        // WAIT asks each node about its own writes.
        let confirmed = await redis.pipeline(
            Self.keys.map { RedisCommand("INCR", [.string($0)]) }, eachNodeThen: RedisCommand("WAIT", [1, 4_000]))
        for outcome in confirmed {
            let answer = try outcome.get()
            #expect(try answer.reply.integer() == 1 && answer.last.integer() == 1)
        }
        #expect(try await redis.separate(silence: .seconds(1)).send(RedisCommand("GET", ["key-1"])).string() == "1")

        let killed = try await cluster.primary(of: "{q}")
        let read = RedisCommand(
            "XREADGROUP", ["GROUP", "g", "c", "COUNT", 10, "BLOCK", 600_000, "STREAMS", "{q}s", ">"])
        async let broken = blocking.send(read, blockingFor: .seconds(600))
        try await eventually("the reader waits") {
            try await cluster.client(of: killed).info(section: "clients")["blocked_clients"] == "1"
        }
        killed.signal(SIGKILL)
        do {
            _ = try await broken
            Issue.record("a reply of a killed server")
        } catch {}
        try await eventually("all slots take writes again", within: .seconds(60)) {
            do {
                return try await redis.pipeline(Self.keys.map { RedisCommand("INCR", [.string($0)]) })
                    .allSatisfy { $0.error == nil }
            } catch let error as RedisError {
                // The error says whether a command may be repeated if it is harmless twice.
                #expect(error.isRetriable, "\(error)")
                return false
            }
        }
        try await eventually("the streams take writes again", within: .seconds(60)) {
            (try? await redis.send(RedisCommand("XADD", ["{q}s", "1-1", "f", "v"]))) != nil
        }
        try await eventually("the reader goes on") {
            guard let entries = try? await blocking.send(read, blockingFor: .seconds(600)) else { return false }
            return try entries[0][1][0][0].string() == "1-1"
        }
        #expect(try await redis.onEachPrimary([RedisCommand("DBSIZE")]).count == 3)
        blocking.close()
        await redis.close()
    }

    /// Writes to a key, waits until the replica of its primary has all, and stops that primary.
    private func stoppedPrimary(
        _ cluster: ClusterServers, _ redis: RedisClient
    ) async throws -> (primary: RedisServer, replica: RedisServer) {
        try await eventually("it takes writes") {
            (try? await redis.send(RedisCommand("SET", ["{q}", "before"]))) != nil
        }
        let primary = try await cluster.primary(of: "{q}")
        let replica = cluster.replicas[try #require(cluster.primaries.firstIndex { $0 === primary })]
        try await eventually("the replica has it") {
            try await cluster.client(of: primary).pipeline([
                RedisCommand("INCR", ["n{q}"]), RedisCommand("WAIT", [1, 100]),
            ])[1].integer() == 1
        }
        primary.signal(SIGSTOP)
        return (primary, replica)
    }

    @Test func `a primary that is silent is replaced and comes back as a replica`() async throws {
        let cluster = try await ClusterServers.start(replicated: true)
        let redis = RedisClient(url: cluster.url, options: .impatient, logger: .quiet)
        let (silent, replica) = try await stoppedPrimary(cluster, redis)
        try await eventually("the replica takes writes", within: .seconds(60)) {
            (try? await redis.send(RedisCommand("SET", ["{q}", "after"]))) != nil
        }
        #expect(try await cluster.client(of: replica).send(RedisCommand("GET", ["{q}"])).string() == "after")
        // A client that knows only the stopped node learns the new owner from it.
        silent.signal(SIGCONT)
        try await eventually("it is a replica", within: .seconds(60)) {
            try await cluster.client(of: silent).info(section: "replication")["role"] == "slave"
        }
        let late = RedisClient(url: ClusterServers.url([silent]), logger: .quiet)
        #expect(try await late.send(RedisCommand("GET", ["{q}"])).string() == "after")
        #expect(try await redis.send(RedisCommand("GET", ["{q}"])).string() == "after")
        await late.close()
        await redis.close()
    }

    /// The primary is stopped, so a command that goes there gets no answer.
    @Test func `a client that sends nothing learns of a new primary, and goes there at once`() async throws {
        let cluster = try await ClusterServers.start(replicated: true)
        let redis = RedisClient(url: cluster.url, options: .patient, logger: .quiet)
        let (silent, replica) = try await stoppedPrimary(cluster, redis)
        let owner = RedisAddress.tcp(host: "127.0.0.1", port: replica.port ?? 0)
        try await eventually("the client knows the new owner", within: .seconds(60)) {
            redis.topology?.known?[HashSlot(key: "{q}")] == owner
        }
        silent.signal(SIGCONT)
        try await redis.send(RedisCommand("SET", ["{q}", "after"]))
        #expect(try await cluster.client(of: replica).send(RedisCommand("GET", ["{q}"])).string() == "after")
        await redis.close()
    }

    @Test func `a node that is gone fails what is its own`() async throws {
        let cluster = try await ClusterServers.start()
        let redis = RedisClient(url: cluster.url, logger: .quiet)
        _ = try await redis.pipeline(Self.keys.map { RedisCommand("INCR", [.string($0)]) })
        let gone = try await cluster.primary(of: "{q}")
        let here = try #require(cluster.primaries.first { $0 !== gone })
        let kept = "{\(try await key(at: here, cluster))}"
        // The other half of the cluster goes on, as operators may want.
        for node in cluster.primaries {
            try await cluster.client(of: node).send(
                RedisCommand("CONFIG", ["SET", "cluster-require-full-coverage", "no"]))
        }
        gone.signal(SIGKILL)
        try await eventually("it is known to be gone") {
            do throws(RedisError) {
                try await redis.send(RedisCommand("INCR", ["{q}"]))
                return false
            } catch {
                if case .unreachable = error { return true }
                return false
            }
        }
        // If some parts were executed, the error says that the whole may have been executed.
        do throws(RedisError) {
            _ = try await redis.pipeline([RedisCommand("INCR", [.string(kept)]), RedisCommand("INCR", ["{q}"])])
            Issue.record("a reply of a dead node")
        } catch {
            guard case .lost = error else {
                Issue.record("\(error)")
                return
            }
        }
        #expect(try await redis.send(RedisCommand("GET", [.string(kept)])).string() == "1")
        // Steps after the failed one do not begin.
        await #expect(throws: RedisError.self) {
            try await redis.pipeline(
                [RedisCommand("INCR", ["{q}"]), RedisCommand("INCR", [.string(kept)])], inStepsAt: [1])
        }
        #expect(try await redis.send(RedisCommand("GET", [.string(kept)])).string() == "1")
        await redis.close()
    }

    @Test func `a step that is refused is the last`() async throws {
        let cluster = try await ClusterServers.start()
        let redis = RedisClient(url: cluster.url, logger: .quiet)
        let replies = try await redis.pipeline(
            [
                RedisCommand("SET", ["a", "word"]), RedisCommand("INCR", ["a"]), RedisCommand("INCR", ["b"]),
                RedisCommand("INCR", ["c"]),
            ], inStepsAt: [1, 2])
        #expect(replies[0].error == nil)
        #expect(replies[1].error != nil && replies[2].error == replies[1].error && replies[3].error == replies[1].error)
        #expect(
            try await redis.pipeline([RedisCommand("EXISTS", ["b"]), RedisCommand("EXISTS", ["c"])]).allSatisfy {
                try $0.integer() == 0
            })
        await redis.close()
        cluster.stop()
    }

    @Test func `every node is reached through TLS`() async throws {
        let authority = try TestAuthority()
        let cluster = try await ClusterServers.start(authority)
        var options = RedisOptions()
        options.tls = RedisTLSFiles(roots: authority.caFile, certificate: nil, key: nil)
        let redis = RedisClient(url: try cluster.tlsURL(), options: options, logger: .quiet)
        let replies = try await redis.pipeline(Self.keys.map { RedisCommand("INCR", [.string($0)]) })
        #expect(try replies.allSatisfy { try $0.integer() == 1 })
        #expect(redis.encryption == "TLS 1.3")
        #expect(try await redis.onEachPrimary([RedisCommand("DBSIZE")]).count == 3)
        let blocking = redis.blockingConnection()
        let read = RedisCommand("XREAD", ["BLOCK", 10, "STREAMS", "{q}s", "0"])
        #expect(try await blocking.send(read, blockingFor: .milliseconds(10)).isNil)
        blocking.close()
        await redis.close()
    }

    @Test func `a single server is told from a cluster`() async throws {
        let server = try await RedisServer.start(tcp: true)
        let redis = RedisClient(url: ClusterServers.url([server]), logger: .quiet)
        do throws(RedisError) {
            try await redis.send(RedisCommand("GET", ["a"]))
            Issue.record("a single server is no cluster")
        } catch {
            #expect(
                error
                    == .server(
                        code: "NOCLUSTER",
                        message: "127.0.0.1:\(server.port ?? 0) is a single server and no node of a cluster"))
            #expect("\(error)".contains("use redis://"))
        }
        await redis.close()
    }

    private func key(at node: RedisServer, _ cluster: ClusterServers) async throws -> String {
        for number in 0..<100 where try await cluster.primary(of: "\(number)") === node { return "\(number)" }
        throw NeverHappened(description: "a key of a node")
    }
}
