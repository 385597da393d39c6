import LiveActivity
import Redis
import Store
import StrictJSON
import TestSupport
import Testing

@testable import HTTPAPI

/// The log of actions, as the API tells it.
@Suite struct ActionTests {
    @Test func `what an operator did is told with credential, address, operation and subject`() async throws {
        try await GatewayFixture.run { gateway in
            #expect(try await gateway.send("GET", "/api/actions").text == #"{"ok":true,"actions":[]}"#)
            #expect(try await gateway.send("POST", "/api/pause", #"{"name":"match-42"}"#).status == 200)
            #expect(try await gateway.send("POST", "/api/resume", #"{"name":"match-42"}"#).status == 200)
            #expect(try await gateway.send("PUT", "/api/schemas/Order", #"{"content_state":{}}"#).status == 200)
            let told = try await Self.actions(gateway)
            #expect(try told.map { try $0.required("action").string() } == ["set_schema", "resume", "pause"])
            #expect(try told[0].required("attributes_type").string() == "Order")
            for action in told {
                #expect(try action.required("credential").string() == "master")
                #expect(try action.required("address").string() == "127.0.0.1")
                #expect(UUIDBytes(try action.required("operation_id").string()) != nil)
            }
            #expect(try told[1].required("name").string() == "match-42")
            let other = try await gateway.send("GET", "/api/actions", user: "other-app:other-m")
            #expect(other.text == #"{"ok":true,"actions":[]}"#)
        }
    }

    @Test func `what was refused, what reads, and what devices do is not told`() async throws {
        try await GatewayFixture.run { gateway in
            #expect(try await gateway.send("POST", "/api/resume", #"{"name":"match-42"}"#).status == 404)
            #expect(try await gateway.send("POST", "/api/pause", "[]").status == 400)
            #expect(try await gateway.send("POST", "/api/pause", user: "\(GatewayFixture.key):wrong").status == 401)
            #expect(try await gateway.send("GET", "/api/pauses").status == 200)
            try await gateway.follow("match-42")
            #expect(try await Self.actions(gateway).isEmpty)
        }
    }

    @Test func `filters and pages`() async throws {
        try await GatewayFixture.run { gateway in
            for name in ["a", "b", "c"] {
                _ = try await gateway.send("POST", "/api/pause", #"{"name":"\#(name)"}"#)
                _ = try await gateway.send("POST", "/api/resume", #"{"name":"\#(name)"}"#)
            }
            #expect(try await Self.actions(gateway, "?action=pause").count == 3)
            #expect(try await Self.actions(gateway, "?action=pause,resume&name=b").count == 2)
            #expect(try await Self.actions(gateway, "?credential=app").isEmpty)
            #expect(try await Self.actions(gateway, "?to=1000000").isEmpty)
            #expect(try await Self.actions(gateway, "?from=1000000").count == 6)
            var names: [String] = []
            var next: String? = ""
            while let after = next {
                let path = "/api/actions?limit=4" + (after.isEmpty ? "" : "&after=\(after)")
                let page = try await gateway.send("GET", path).object
                names += try page.required("actions").array().map { try $0.object().required("name").string() }
                next = try page["next"]?.string()
            }
            #expect(names == ["c", "c", "b", "b", "a", "a"])
            for query in ["action=jump", "from=soon", "after=x", "limit=0", "after=1"] {
                let reply = try await gateway.send("GET", "/api/actions?\(query)")
                #expect(reply.status == 400, "\(query)")
            }
            #expect(try await gateway.send("GET", "/api/actions?after=0-0").text == #"{"ok":true,"actions":[]}"#)
        }
    }

    @Test func `a push says who published it, and its publisher is told once, then summed up`() async throws {
        try await GatewayFixture.run { gateway in
            try await gateway.follow("match-42")
            let body = publishText(activity: #"{"name":"match-42","event":"update","content_state":{}}"#)
            let first = try await gateway.publish(body)
            let id = try first.strings("push_ids")[0]
            let ledger = try await gateway.send("GET", "/api/push/\(id)")
            #expect(ledger.text.hasSuffix(#","by":{"credential":"master","address":"127.0.0.1"}}"#), "\(ledger.text)")
            let history = try await gateway.send("GET", "/api/pushes")
            #expect(history.text.contains(#""by":{"credential":"master","address":"127.0.0.1"}"#))
            for _ in 0..<3 { #expect(try await gateway.publish(body).status == 202) }
            // The first one comes within a second.
            try await eventually("the publish is told") {
                try await Self.actions(gateway, "?action=publish").count == 1
            }
            let told = try await Self.actions(gateway, "?action=publish")[0]
            #expect(try told.required("push_id").string() == id)
            #expect(try told.required("count").integer() == 1)
        }
    }

    @Test func `a gateway that ends tells what it has summed up`() async throws {
        let server = try await RedisServer.start()
        defer { server.stop() }
        let store = Store(redis: RedisClient(url: server.url, scripts: Store.scripts, logger: .quiet))
        let recorder = ActionRecorder(store.actions, logger: .quiet)
        let app = try AppKey("shop")
        for number in 1...5 {
            let action = Action(
                "publish", credential: "master", address: "::1", operation: "o\(number)",
                subjects: [.name: "match-42", .push: "p\(number)"])
            await recorder.note(.publish, action, of: app)
        }
        await recorder.flush(all: true)
        let (told, _) = try await store.actions.list(app, after: nil, limit: 10)
        #expect(told.map(\.action.count) == [4, 1])
        #expect(told[0].action.subjects == [.name: "match-42", .push: "p2", .lastPush: "p5"])
        await store.redis.close()
    }

    @Test func `a call that failed is told only if it may have done a part`() async throws {
        let server = try await RedisServer.start()
        defer { server.stop() }
        let store = Store(redis: RedisClient(url: server.url, scripts: Store.scripts, logger: .quiet))
        let recorder = ActionRecorder(store.actions, logger: .quiet)
        let app = try AppKey("shop")
        var part = APIError(429, "the quota is full")
        part.applied = 1_000
        for failure in [APIError(400, "wrong"), part, APIError(503, "Redis did not answer")] {
            await #expect(throws: APIError.self) {
                try await recorder.record(
                    .importChannels, Publisher(credential: "master", address: "::1"), "o", [:], of: app
                ) { throw failure }
            }
        }
        let (told, _) = try await store.actions.list(app, after: nil, limit: 10)
        #expect(told.map(\.action.failed) == [503, 429] && told.map(\.action.count) == [0, 1_000])
        await store.redis.close()
    }

    @Test func `what Redis does not take is told later`() async throws {
        let server = try await RedisServer.start()
        defer { server.stop() }
        var options = RedisOptions()
        options.commandTimeout = .seconds(60)
        let redis = RedisClient(url: server.url, scripts: Store.scripts, options: options, logger: .quiet)
        let store = Store(redis: redis)
        let app = try AppKey("shop")
        let recorder = ActionRecorder(store.actions, logger: .quiet)
        // A full Redis refuses writes.
        try await redis.everywhere("CONFIG", "SET", "maxmemory", "1")
        let action = Action("pause", credential: "master", address: "::1", operation: "o")
        await recorder.note(.pause, action, of: app)
        try await redis.everywhere("CONFIG", "SET", "maxmemory", "0")
        #expect(try await store.actions.list(app, after: nil, limit: 10).actions.isEmpty)
        await recorder.flush()
        #expect(try await store.actions.list(app, after: nil, limit: 10).actions.map(\.action) == [action])
        await redis.close()
    }

    @Test func `behind a trusted proxy the address is the client's`() async throws {
        let proxies = TrustedProxies(AddressRanges("127.0.0.1, 10.0.0.0/8")!)
        try await GatewayFixture.run(configure: { $0.trustedProxies = proxies }) { gateway in
            let forged = ("X-Forwarded-For", "203.0.113.9, 198.51.100.7, 10.1.2.3")
            _ = try await gateway.send("POST", "/api/pause", headers: [forged])
            let told = try await Self.actions(gateway)
            #expect(try told[0].required("address").string() == "198.51.100.7")
        }
    }

    @Test func `the master secret and the console are of use from the addresses of servers only`() async throws {
        let narrow: (inout GatewayConfiguration) -> Void = {
            $0.trustedProxies = TrustedProxies(AddressRanges("127.0.0.1")!)
            $0.serverAddresses = AddressRanges("10.0.0.0/8, 2001:db8::/32")!
        }
        try await GatewayFixture.run(configure: narrow) { gateway in
            let app = "\(GatewayFixture.key):\(GatewayFixture.secret)"
            for (address, isServer) in [("10.1.2.3", true), ("2001:db8::7", true), ("198.51.100.7", false)] {
                let from = [("X-Forwarded-For", address)]
                let reply = try await gateway.send("GET", "/api/actions", headers: from)
                // As for a wrong secret.
                #expect(reply.status == (isServer ? 200 : 401), "\(address)")
                let page = try await gateway.send("GET", "/console", user: nil, headers: from)
                #expect((page.status == 404) == !isServer, "\(address): \(page.status)")
                let path = "/api/activities/order-1/channels/c"
                #expect(try await gateway.send("PUT", path, #"{"token":"aa"}"#, user: app, headers: from).status == 200)
            }
            // An operator on this machine.
            #expect(try await gateway.send("GET", "/api/actions").status == 200)
        }
    }

    @Test func `behind a proxy that is not named, the master secret is of use to nobody but an operator here`()
        async throws
    {
        let servers = try #require(AddressRanges("10.0.0.0/8"))
        try await GatewayFixture.run(configure: { $0.serverAddresses = servers }) { gateway in
            for header in [("X-Forwarded-For", "10.1.2.3"), ("Via", "1.1 proxy")] {
                #expect(try await gateway.send("GET", "/api/actions", headers: [header]).status == 401)
                #expect(try await gateway.send("GET", "/console", user: nil, headers: [header]).status == 404)
            }
            let operatorsAnswer = try await gateway.send("GET", "/api/actions")
            #expect(operatorsAnswer.status == 200)
        }
    }

    @Test func `a right secret from elsewhere is counted by its address, as a wrong one is`() async throws {
        try await GatewayFixture.run(configure: {
            $0.trustedProxies = TrustedProxies(AddressRanges("127.0.0.1")!)
            $0.serverAddresses = AddressRanges("10.0.0.0/8")!
            $0.requestsPerAddress = 1
        }) { gateway in
            for (number, secret) in [GatewayFixture.masterSecret, "wrong"].enumerated() {
                var counts: [Int: Int] = [:]
                for _ in 0..<100 where counts[429] == nil {
                    let reply = try await gateway.send(
                        "GET", "/api/actions", user: "\(GatewayFixture.key):\(secret)",
                        headers: [("X-Forwarded-For", "198.51.100.\(number)")])
                    counts[reply.status, default: 0] += 1
                }
                #expect(Set(counts.keys) == [401, 429], "\(secret): \(counts)")
            }
        }
    }

    @Test func `an address that is no server's cannot find out which secret is right`() async throws {
        try await GatewayFixture.run(configure: {
            $0.trustedProxies = TrustedProxies(AddressRanges("127.0.0.1")!)
            $0.serverAddresses = AddressRanges("10.0.0.0/8")!
            $0.failedSignInsPerMinute = 1
        }) { gateway in
            let from = [("X-Forwarded-For", "198.51.100.7")]
            let wrong = "\(GatewayFixture.key):wrong"
            // A server uses the secret at the same time.
            let server = try await gateway.send("GET", "/api/actions", headers: [("X-Forwarded-For", "10.1.2.3")])
            #expect(server.status == 200)
            #expect(try await gateway.send("GET", "/api/actions", headers: from).status == 401)
            #expect(try await gateway.send("GET", "/api/actions", user: wrong, headers: from).status == 429)
            #expect(try await gateway.send("GET", "/api/actions", headers: from).status == 429)
        }
    }

    static func actions(_ gateway: GatewayFixture, _ query: String = "") async throws -> [JSONObject] {
        try await gateway.send("GET", "/api/actions\(query)").object.required("actions").array().map {
            try $0.object()
        }
    }
}

@Suite struct TrustedProxiesTests {
    @Test(arguments: [
        ("192.0.2.1", [], "192.0.2.1"), ("192.0.2.1", ["10.0.0.1"], "192.0.2.1"),
        ("10.0.0.1", ["203.0.113.9, 198.51.100.7"], "198.51.100.7"),
        ("10.0.0.1", ["203.0.113.9", "198.51.100.7, 10.9.9.9"], "198.51.100.7"),
        ("10.0.0.1", ["unknown"], "10.0.0.1"), ("10.0.0.1", ["x, 10.0.0.2"], "10.0.0.2"),
        ("10.0.0.1", [""], "10.0.0.1"),
        ("::ffff:10.0.0.1", ["198.51.100.7:4711"], "198.51.100.7"),
        ("2001:db8::7", ["[2001:db9::1]:443"], "2001:db9::1"), ("2001:db9::7", ["192.0.2.1"], "2001:db9::7"),
    ])
    func `the header is read from its end, up to the first address that is not trusted`(
        peer: String, forwarded: [String], client: String
    ) throws {
        let proxies = TrustedProxies(try #require(AddressRanges("10.0.0.0/8,2001:db8::/32")))
        #expect(proxies.client(of: peer, forwarded: forwarded) == client)
    }

    @Test func `networks need not end at a byte`() throws {
        let ranges = try #require(AddressRanges("172.16.0.0/12"))
        #expect(ranges.contains("172.31.255.255") && !ranges.contains("172.32.0.0") && !ranges.contains("x"))
    }

    @Test(arguments: ["10.0.0.0/33", "10.0.0/8", "host", "10.0.0.0/8/8", "::/129", "10.0.0.0/-1", "10.0.0.0/"])
    func `what is no network is refused`(text: String) { #expect(AddressRanges(text) == nil) }
}
