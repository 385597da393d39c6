import LiveActivity
import Redis
import StrictJSON
import TestSupport
import Testing

@testable import HTTPAPI
@testable import Store

#if canImport(Glibc)
    import Glibc
#endif

/// Tests every bad state of Redis. The caller learns in time what to do, and nothing is half done.
@Suite struct FailureTests {
    @Test func `Redis dies and comes back`() async throws {
        try await GatewayFixture.run { gateway in
            #expect(try await gateway.publish(publishText()).status == 202)
            gateway.server.signal(SIGKILL)
            try await expectUnavailable(gateway)
            #expect(try await gateway.send("GET", "/healthz").status == 200)
            #expect(try await gateway.publish(publishText(), path: "/api/push/validate").status == 200)
            try await gateway.server.restart()
            try await eventually("it takes publishes") { try await gateway.publish(publishText()).status == 202 }
            #expect(try await gateway.send("GET", "/readyz", user: nil).status == 200)
        }
    }

    @Test func `Redis is silent`() async throws {
        try await GatewayFixture.run(patience: .seconds(1)) { gateway in
            func isTaken() async throws -> Bool { try await gateway.publish(publishText()).status == 202 }
            try await eventually("Redis takes a publish", isTaken)
            gateway.server.signal(SIGSTOP)
            defer { gateway.server.signal(SIGCONT) }
            let reply = try await gateway.publish(publishText())
            #expect(reply.status == 503)
            #expect(reply.header("retry-after") != nil)
            gateway.server.signal(SIGCONT)
            try await eventually("it takes a publish again", isTaken)
        }
    }

    @Test func `what a full Redis refused is not sent, though it would supersede a push that waits`() async throws {
        try await GatewayFixture.run { gateway in
            let waits = try await gateway.publish(publishText()).strings("push_ids")[0]
            let redis = gateway.store.redis
            try await redis.everywhere("CONFIG", "SET", "maxmemory", "1")
            #expect(try await gateway.publish(publishText()).status == 503)
            try await redis.everywhere("CONFIG", "SET", "maxmemory", "0")
            let ledger = try await gateway.send("GET", "/api/push/\(waits)")
            #expect(ledger.text.contains(#""state":"queued""#), "\(ledger.text)")
        }
    }

    @Test func `Redis is out of memory, or a replica`() async throws {
        try await GatewayFixture.run { gateway in
            let redis = gateway.store.redis
            try await redis.everywhere("CONFIG", "SET", "maxmemory", "1")
            let full = try await gateway.publish(publishText())
            #expect(full.status == 503 && full.header("retry-after") == "30")
            #expect(try full.integer("error_code") == 50300)
            #expect(try full.string("error") == "Redis is full: this was not done, or only in part. Try again.")
            let track = try await gateway.send("PUT", "/api/activities/n/channels/c", #"{"token":"ab"}"#)
            #expect(track.status == 503)
            try await redis.everywhere("CONFIG", "SET", "maxmemory", "0")
            try await redis.send(RedisCommand("REPLICAOF", ["127.0.0.1", "1"]))
            try await expectUnavailable(gateway, readiness: nil)
            // The client leaves a server that is a replica, so this command may be lost with its connection.
            try await eventually("Redis is a primary again") {
                (try? await redis.send(RedisCommand("REPLICAOF", ["NO", "ONE"]))) != nil
            }
            try await eventually("it takes publishes") { try await gateway.publish(publishText()).status == 202 }
        }
    }

    @Test func `a key of the wrong type is an internal error that tells nothing`() async throws {
        try await GatewayFixture.run { gateway in
            let id = try await gateway.publish(publishText()).strings("push_ids")[0]
            let redis = gateway.store.redis
            for key in try await redis.keys() {
                try await redis.send(RedisCommand("DEL", key))
                try await redis.send(RedisCommand("LPUSH", key, "x"))
            }
            for reply in [try await gateway.publish(publishText()), try await gateway.send("GET", "/api/push/\(id)")] {
                #expect(reply.status == 500)
                #expect(
                    reply.golden
                        == #"{"ok":false,"operation_id":"<uuid>","error":"An internal error occurred; the operation id finds it in the log.","error_code":50000}"#
                )
                let operation = try reply.string("operation_id")
                let line = try #require(gateway.log.all.first { $0.contains(operation) })
                #expect(line.hasPrefix("error ") && line.contains("WRONGTYPE"), "\(line)")
            }
        }
    }

    @Test func `a bulk call that loses Redis says how far it came`() async throws {
        try await GatewayFixture.run { gateway in
            try await gateway.store.redis.everywhere("CONFIG", "SET", "maxmemory", "1")
            let lines = (1...1_500).map { "{\"channel\":\"c\($0)\",\"token\":\"abcd\"}\n" }.joined()
            let reply = try await gateway.send("POST", "/api/activities/n/channels", lines)
            #expect(reply.status == 503)
            #expect(try reply.integer("lines_applied") == 0 && reply.integer("accepted") == 0)
            try await gateway.store.redis.everywhere("CONFIG", "SET", "maxmemory", "0")
            let again = try await gateway.send("POST", "/api/activities/n/channels", lines)
            #expect(try again.integer("accepted") == 1_500)
        }
    }

    @Test func `a bulk call that breaks off applies and counts the lines that arrived whole`() async throws {
        try await GatewayFixture.run { gateway in
            let socket = try Socket(port: gateway.port)
            let basic = Base64.encode("\(GatewayFixture.key):\(GatewayFixture.masterSecret)".utf8)
            let lines =
                (1...1_001).map { "{\"channel\":\"c\($0)\",\"token\":\"abcd\"}\n" }.joined()
                + #"{"channel":"c1002","token":"abcd"}"#
            // The next chunk has no size.
            socket.send(
                "POST /api/activities/n/channels HTTP/1.1\r\nHost: x\r\nAuthorization: Basic \(basic)\r\n"
                    + "Transfer-Encoding: chunked\r\n\r\n\(String(lines.utf8.count, radix: 16))\r\n\(lines)\r\nzz\r\n")
            let answer = await socket.readAnswer()
            #expect(answer.hasPrefix("HTTP/1.1 400 ") && answer.contains(#""lines_applied":1001"#), "\(answer)")
            #expect(try await gateway.send("GET", "/api/activities/n").integer("tokens") == 1_001)

            // The client goes away in the middle of a line.
            try Socket(port: gateway.port).send(
                "POST /api/activities/m/channels HTTP/1.1\r\nHost: x\r\nAuthorization: Basic \(basic)\r\n"
                    + "Content-Length: \(lines.utf8.count + 1)\r\n\r\n\(lines)")
            try await eventually("the whole lines are applied") {
                let reply = try await gateway.send("GET", "/api/activities/m")
                return reply.status == 200 ? try reply.integer("tokens") == 1_001 : false
            }
        }
    }

    @Test func `a later line of a channel wins, also in another batch`() async throws {
        try await GatewayFixture.run { gateway in
            // Each batch holds every channel once.
            let lines = (0..<5_000).map { number in
                "{\"channel\":\"c\(number % 1_000)\",\"token\":\"0000000\(number / 1_000)aaaaaaaa\"}\n"
            }.joined()
            let reply = try await gateway.send("POST", "/api/activities/n/channels", lines)
            #expect(try reply.integer("accepted") == 5_000)
            for channel in ["c0", "c500", "c999"] {
                let shown = try await gateway.send("GET", "/api/channels/\(channel)").text
                #expect(shown.contains("00000004"), "\(shown)")
            }
        }
    }

    @Test func `a Redis that is full takes whole publishes or nothing, and goes on by itself`() async throws {
        try await GatewayFixture.run { gateway in
            let redis = gateway.store.redis
            let used = try await redis.total("used_memory", of: "memory")
            try await redis.everywhere("CONFIG", "SET", "maxmemory", .int(used + 1_000_000))
            var accepted: [String] = []
            var refused = 0
            for number in 0..<3_000 where refused < 20 {
                let body = publishText(
                    activity: #"{"name":"n-\#(number)","event":"update","content_state":{"x":"\#(number)"}}"#)
                let reply = try await gateway.publish(body)
                if reply.status == 202 {
                    accepted += try reply.strings("push_ids")
                } else {
                    #expect(reply.status == 503 && reply.header("retry-after") == "30")
                    refused += 1
                }
            }
            #expect(refused == 20 && accepted.count > 50)
            try await redis.everywhere("CONFIG", "SET", "maxmemory", "0")
            for id in accepted { #expect(try await gateway.send("GET", "/api/push/\(id)").status == 200) }
            let keys = gateway.store.keys
            #expect(try await gateway.store.pushes.kept(try AppKey(GatewayFixture.key)) == accepted.count)
            // These are lone pushes, which their names hold.
            for (pattern, count) in [(keys.name("*"), accepted.count), (keys.anyPush, 0), (keys.unswept("*"), 0)] {
                #expect(try await redis.keys(pattern).count == count, "of a refused push nothing is left")
            }
            #expect(try await gateway.publish(publishText()).status == 202)
        }
    }

    @Test func `what got a 202 survives kill -9, and a Redis that loads its data says so`() async throws {
        // Loading each key takes 200 µs longer. This is far longer than the test needs, and the test
        // itself ends the delay.
        let slow = ["--appendonly", "yes", "--key-load-delay", "200"]
        try await GatewayFixture.run(redis: slow) { gateway in
            var ids: [String] = []
            for number in 0..<40 {
                let reply = try await gateway.publish(
                    publishText(activity: #"{"name":"n-\#(number)","event":"update","content_state":{}}"#))
                ids += try reply.strings("push_ids")
            }
            let fill = "for i = 1, 20000 do redis.call('SET', KEYS[1] .. i, 1) end"
            for part in 0..<15 {
                try await gateway.store.redis.send(
                    RedisCommand("EVAL", [.string(fill), "1", .string("filler-\(part)-")]))
            }
            gateway.server.signal(SIGKILL)
            async let restarted: Void = gateway.server.restart()
            try await eventually("a publish hears that Redis loads its data") {
                let reply = try await gateway.publish(publishText())
                guard reply.status == 503, try reply.string("error").contains("loading") else { return false }
                #expect(reply.header("retry-after") == "5")
                return true
            }
            try await gateway.store.redis.send(RedisCommand("CONFIG", ["SET", "key-load-delay", "0"]))
            try await restarted
            for id in ids { #expect(try await gateway.send("GET", "/api/push/\(id)").status == 200) }
            #expect(try await gateway.publish(publishText()).status == 202)
        }
    }

    @Test func `lost scripts and connections cost no publish that is repeated`() async throws {
        try await GatewayFixture.run { gateway in
            let redis = gateway.store.redis
            for number in 0..<30 {
                let key = [("Idempotency-Key", "k\(number)")]
                if number % 2 == 0 {
                    try await redis.everywhere("SCRIPT", "FLUSH")
                } else {
                    _ = try? await redis.everywhere("CLIENT", "KILL", "TYPE", "normal")
                }
                var statuses: [Int] = []
                for _ in 0..<5 where statuses.last != 202 {
                    statuses.append(try await gateway.publish(publishText(), headers: key).status)
                }
                #expect(statuses.last == 202 && statuses.dropLast().allSatisfy { $0 == 503 }, "\(statuses)")
            }
        }
    }

    @Test func `a replica that must confirm and does not is reported, and a repetition finds the same push`()
        async throws
    {
        let policy = ReplicaPolicy(replicas: 1, timeout: .milliseconds(50))
        try await GatewayFixture.run(replicas: policy) { gateway in
            let key = [("Idempotency-Key", "k")]
            for _ in 0..<2 {
                let reply = try await gateway.publish(publishText(), headers: key)
                #expect(reply.status == 503 && reply.header("retry-after") == "2")
                let words = try reply.string("error")
                #expect(words.contains("0 of 1 replicas") && words.contains("may still go out"))
                #expect(words.contains("with the same Idempotency-Key"))
            }
            #expect(
                try await gateway.store.queue.depth([gateway.app]).map(\.pushesHigh) == [2], "one push, woken twice")
        }
    }

    @Test func `past the bound of its queue an app gets 429, and a newer state still supersedes an older one`()
        async throws
    {
        try await GatewayFixture.run(configure: { $0.maximumQueue = 2 }) { gateway in
            func publish(_ name: String) async throws -> Reply {
                try await gateway.publish(
                    publishText(activity: #"{"name":"\#(name)","event":"update","content_state":{}}"#))
            }
            #expect(try await publish("a").status == 202)
            #expect(try await publish("b").status == 202)
            let refused = try await publish("c")
            #expect(refused.status == 429 && refused.header("retry-after") == "5")
            #expect(try refused.string("error").contains("gateway.max_queue"))
            #expect(try await publish("a").status == 202)
            let metrics = try await gateway.send("GET", "/metrics", user: nil).text
            #expect(metrics.contains(#"outcome="queue_full"} 1"#))
        }
    }

    @Test(
        arguments: [
            (RedisError.unreachable("refused"), 503, 2), (.lost("reset"), 503, 2), (.closed, 503, 1),
            (.server(code: "LOADING", message: "LOADING Redis is loading"), 503, 5),
            (.server(code: "MISCONF", message: ""), 503, 30),
            (.server(code: "NOAUTH", message: ""), 503, 30), (.server(code: "NOPERM", message: ""), 503, 30),
            (.server(code: "CLUSTERDOWN", message: ""), 503, 2),
            (.server(code: "WRONGTYPE", message: "secret key"), 500, nil),
            (.server(code: "ERR", message: ""), 500, nil),
            (.unexpectedReply("x"), 500, nil),
        ] as [(RedisError, Int, Int?)])
    func `every failure has its answer`(error: RedisError, status: Int, retryAfter: Int?) {
        let answer = APIError(StoreError.redis(error))
        #expect(answer.status == status && answer.retryAfter == retryAfter && answer.code == status * 100)
        #expect(!answer.body(operation: "x").text.contains("secret"))
    }

    @Test func `a lost race is answered 503, and is not called damage`() {
        let answer = APIError(StoreError.overtaken)
        #expect(answer.status == 503 && answer.retryAfter == 2)
        #expect(answer.body(operation: "x").text.contains("at the same time"))
    }

    @Test func `a right that the user of Redis lacks is not called a wrong password`() {
        let answer = APIError(StoreError.redis(.server(code: "NOPERM", message: "")))
        #expect(answer.body(operation: "x").text.contains("lacks a right"))
    }

    private func expectUnavailable(_ gateway: GatewayFixture, readiness: Int? = 503) async throws {
        for reply in [
            try await gateway.publish(publishText()),
            try await gateway.send("PUT", "/api/activities/n/channels/c", #"{"token":"ab"}"#),
            try await gateway.send(
                "POST", "/api/channels", #"{"channel":{"device_type":"ios","set_tags":true,"tags":["t"]}}"#),
        ] {
            #expect(reply.status == 503)
            #expect(reply.header("retry-after") == "2")
            #expect(try reply.integer("error_code") == 50300)
        }
        if let readiness {
            let ready = try await gateway.send("GET", "/readyz", user: nil)
            #expect(ready.status == readiness)
        }
    }
}
