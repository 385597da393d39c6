import Foundation
import Redis
import Synchronization
import TestSupport
import Testing

@Suite struct FaultTests {
    @Test func `a server that is down at start is unreachable and found later`() async throws {
        let server = try await RedisServer.start()
        server.signal(SIGKILL)
        let redis = RedisClient(url: server.url, logger: .quiet)
        let error = await #expect(throws: RedisError.self) { try await redis.ping() }
        guard case .unreachable = error else {
            Issue.record("\(error as Any)")
            return
        }
        #expect(error?.isRetriable == true)
        try await server.restart()
        try await eventually("Redis answers", errorsPass: true) { try await redis.answers }
        await redis.close()
    }

    @Test func `what was acknowledged survives kill -9 and the client comes back`() async throws {
        let server = try await RedisServer.start(append: true)
        let redis = RedisClient(url: server.url, connections: 2, logger: .quiet)
        let tally = Tally()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    while !tally.isOver.load(ordering: .relaxed) {
                        do {
                            _ = try await redis.send(RedisCommand("INCR", ["n"]))
                            tally.acknowledged.add(1, ordering: .relaxed)
                        } catch RedisError.lost {
                            tally.unknown.add(1, ordering: .relaxed)
                        } catch RedisError.unreachable {
                        } catch RedisError.server("LOADING", _) {
                        }
                    }
                }
            }
            for _ in 0..<3 {
                let before = tally.acknowledged.load(ordering: .relaxed)
                try await eventually("fifty more are acknowledged") {
                    tally.acknowledged.load(ordering: .relaxed) > before + 50
                }
                server.signal(SIGKILL)
                try await server.restart()
            }
            let before = tally.acknowledged.load(ordering: .relaxed)
            try await eventually("fifty more are acknowledged") {
                tally.acknowledged.load(ordering: .relaxed) > before + 50
            }
            tally.isOver.store(true, ordering: .relaxed)
            try await group.waitForAll()
        }
        let stored = try await redis.send(RedisCommand("GET", ["n"])).integer()
        let least = tally.acknowledged.load(ordering: .relaxed)
        #expect(stored >= least)
        #expect(stored <= least + tally.unknown.load(ordering: .relaxed))
        await redis.close()
    }

    @Test func `a server that stops answering times out and is used again`() async throws {
        let server = try await RedisServer.start()
        let redis = RedisClient(url: server.url, connections: 1, options: .impatient, logger: .quiet)
        try await eventually("Redis answers", errorsPass: true) { try await redis.answers }
        server.signal(SIGSTOP)
        let error = await #expect(throws: RedisError.self) { try await redis.send(RedisCommand("SET", ["k", "v"])) }
        guard case .lost(let why) = error else {
            Issue.record("\(error as Any)")
            return
        }
        #expect(why.contains("no reply"))
        // The kernel accepts the next connection, but the stopped server does not greet it.
        let next = await #expect(throws: RedisError.self) { try await redis.ping() }
        guard case .unreachable = next else {
            Issue.record("\(next as Any)")
            return
        }
        server.signal(SIGCONT)
        try await eventually("Redis answers", errorsPass: true) { try await redis.answers }
        await redis.close()
    }

    @Test func `an idle connection that the server closes costs no command`() async throws {
        let server = try await RedisServer.start()
        let redis = RedisClient(url: server.url, connections: 1, logger: .quiet)
        let operator_ = RedisClient(url: server.url, connections: 1, logger: .quiet)
        for _ in 0..<20 {
            let id = try await redis.send(RedisCommand("CLIENT", ["ID"])).integer()
            _ = try await operator_.send(RedisCommand("CLIENT", ["KILL", "ID", .int(id)]))
            // A command may be lost when the connection closes at the same time. It is then reported as
            // lost, and never as done.
            do throws(RedisError) {
                try await redis.ping()
            } catch {
                guard case .lost = error else { throw error }
            }
            try await redis.ping()
        }
        await redis.close()
        await operator_.close()
    }

    @Test func `close resumes everybody once`() async throws {
        let server = try await RedisServer.start()
        let redis = RedisClient(url: server.url, connections: 2, logger: .quiet)
        try await redis.ping()
        server.signal(SIGSTOP)
        let tally = Tally()
        let errors = try await withThrowingTaskGroup(of: RedisError?.self) { group in
            for _ in 0..<200 {
                group.addTask {
                    tally.begun.add(1, ordering: .relaxed)
                    do throws(RedisError) {
                        try await redis.ping()
                        return nil
                    } catch {
                        return error
                    }
                }
            }
            try await eventually("all are begun") { tally.begun.load(ordering: .relaxed) == 200 }
            await redis.close()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(errors.count == 200)
        for error in errors {
            switch error {
            case .closed, .lost: break
            default: Issue.record("\(error as Any)")
            }
        }
        await #expect(throws: RedisError.closed) { try await redis.ping() }
        await redis.close()
    }

    @Test func `dropping the last reference ends the connections`() async throws {
        let server = try await RedisServer.start()
        let watcher = RedisClient(url: server.url, connections: 1, logger: .quiet)
        func connected() async throws -> Int {
            try await watcher.info(section: "clients")["connected_clients"].flatMap(Int.init) ?? 0
        }
        do {
            let redis = RedisClient(url: server.url, connections: 1, logger: .quiet)
            try await redis.ping()
            #expect(try await connected() == 2)
        }
        try await eventually("only the watcher is connected") { try await connected() == 1 }
        await watcher.close()
    }
}

private final class Tally: Sendable {
    let begun = Atomic<Int>(0)
    let acknowledged = Atomic<Int>(0)
    let unknown = Atomic<Int>(0)
    let isOver = Atomic<Bool>(false)
}

extension RedisClient {
    var answers: Bool {
        get async throws {
            try await ping()
            return true
        }
    }
}
