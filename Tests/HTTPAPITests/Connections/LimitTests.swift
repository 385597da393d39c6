import LiveActivity
import ServiceLifecycle
import TestSupport
import Testing

@testable import HTTPAPI

#if canImport(Glibc)
    import Glibc
#endif

/// Tests clients that are slow, silent, numerous or hostile, over plain sockets.
@Suite struct LimitTests {
    static let authorization =
        "Authorization: Basic \(Base64.encode("\(GatewayFixture.key):\(GatewayFixture.masterSecret)".utf8))\r\n"

    @Test func `a silent connection is closed after the idle timeout`() async throws {
        try await GatewayFixture.run(configure: { $0.idleTimeout = .milliseconds(200) }) { gateway in
            let silent = try Socket(port: gateway.port)
            let half = try Socket(port: gateway.port)
            half.send("GET /healthz HTTP/1.1\r\nHost:")
            // On a busy machine a connection may be closed before its request arrives.
            try await eventually("a connection is closed after its answer") {
                let used = try Socket(port: gateway.port)
                used.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
                return await used.readToEnd().hasPrefix("HTTP/1.1 200 OK")
            }
            #expect(await silent.readToEnd() == "")
            // The server may answer half a request or not, but it closes the connection.
            _ = await half.readToEnd()
        }
    }

    @Test func `a body that trickles in is given up`() async throws {
        try await GatewayFixture.run(configure: { $0.readTimeout = .milliseconds(300) }) { gateway in
            let slow = try Socket(port: gateway.port)
            slow.send("POST /api/push HTTP/1.1\r\nHost: x\r\n\(Self.authorization)Content-Length: 1000\r\n\r\n{")
            let text = await slow.readToEnd()
            #expect(text.hasPrefix("HTTP/1.1 408 "), "\(text)")
            #expect(text.contains("\"error_code\":40800"))
        }
    }

    @Test func `a large body is refused before it is sent, and the connection closed`() async throws {
        try await GatewayFixture.run { gateway in
            let large = try Socket(port: gateway.port)
            large.send("POST /api/push HTTP/1.1\r\nHost: x\r\n\(Self.authorization)Content-Length: 2000000\r\n\r\n{")
            let text = await large.readHead()
            #expect(text.hasPrefix("HTTP/1.1 413 "))
            #expect(text.lowercased().contains("connection: close"))
            let anonymous = try Socket(port: gateway.port)
            anonymous.send("POST /api/push HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n")
            #expect(await anonymous.readHead().hasPrefix("HTTP/1.1 401 "))
            // A small refused body is read, and the connection stays open.
            let small = try Socket(port: gateway.port)
            for _ in 0..<2 {
                small.send("POST /api/push HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
                #expect(await small.readAnswer().hasPrefix("HTTP/1.1 401 "))
            }
        }
    }

    /// Long times, so that a held request keeps its place as long as the test needs, however slow the machine is.
    static func patiently(maximumRequests: Int) -> @Sendable (inout GatewayConfiguration) -> Void {
        { configuration in
            configuration.maximumRequests = maximumRequests
            configuration.readTimeout = .seconds(3_600)
            configuration.deviceReadTimeout = .seconds(3_600)
            configuration.signInReadTimeout = .seconds(3_600)
            configuration.idleTimeout = .seconds(3_600)
        }
    }

    /// Requests that keep their places: bulk calls without any body yet.
    private static func requestsInWork(_ count: Int, _ gateway: GatewayFixture) async throws -> [Socket] {
        let held = try (0..<count).map { _ in
            let socket = try Socket(port: gateway.port)
            socket.send(
                "POST /api/activities/bulk/channels HTTP/1.1\r\nHost: x\r\n\(authorization)"
                    + "Transfer-Encoding: chunked\r\n\r\n")
            return socket
        }
        try await eventually("\(count) requests are in work") {
            try await gateway.send("GET", "/metrics", user: nil).text.contains("in_flight \(count)\n")
        }
        return held
    }

    /// A request whose body is still missing. It asks for 100 Continue and gets it. Nil: it gets a 503.
    static func slowBody(
        _ gateway: GatewayFixture, _ call: String = "POST /api/push", secret: String = GatewayFixture.masterSecret,
        from address: String? = nil
    ) async throws -> Socket? {
        let socket = try Socket(port: gateway.port)
        let user = Base64.encode("\(GatewayFixture.key):\(secret)".utf8)
        socket.send(
            "\(call) HTTP/1.1\r\nHost: x\r\nAuthorization: Basic \(user)\r\nExpect: 100-continue\r\n"
                + (address.map { "X-Forwarded-For: \($0)\r\n" } ?? "")
                + "Content-Length: \(publishText().utf8.count)\r\n\r\n")
        let head = await socket.readHead()
        #expect(head.hasPrefix("HTTP/1.1 100 ") || head.hasPrefix("HTTP/1.1 503 "), "\(head)")
        return head.hasPrefix("HTTP/1.1 100 ") ? socket : nil
    }

    @Test(.timeLimit(.minutes(10)))
    func `slow bodies do not count as running requests, and devices use no limit of publishers`()
        async throws
    {
        try await GatewayFixture.run(configure: Self.patiently(maximumRequests: 2)) { gateway in
            var slow: [Socket?] = []
            for number in 0..<20 {
                slow.append(
                    try await Self.slowBody(gateway, "PUT /api/channels/\(number)", secret: GatewayFixture.secret))
            }
            for _ in 0..<3 { slow.append(try await Self.slowBody(gateway)) }
            #expect(try await gateway.publish(publishText()).status == 202)
            // The limit for publishers is separate.
            let publisher = try #require(slow[21])
            publisher.send(publishText())
            #expect(await publisher.readAnswer().hasPrefix("HTTP/1.1 202 "))
            // As many of the other requests wait as the limit allows, and the rest got a 503.
            var refused = 0
            for socket in slow[..<20] {
                socket?.send(publishText())
                if await socket?.readAnswer().contains(" 503 ") ?? true { refused += 1 }
            }
            #expect(refused >= 20 - 4 * 2)
        }
    }

    @Test func `one network has an eighth of the bodies in transit of devices, and a sixteenth of sign-ins`() throws {
        let shop = try AppKey("shop")
        let capacity = Capacity(requests: [.master: 16, .app: 16, .device: 16, .signIn: 16], bytes: 100, apps: 1)
        for (caller, most) in [(Capacity.Caller.app, 8), (.device, 8), (.signIn, 4), (.master, 64)] {
            let one = (0..<most).map { _ in capacity.share(of: caller, shop, network: "192.0.2.1") }
            for share in one { #expect(share.take(.bodies)) }
            let next = capacity.share(of: caller, shop, network: "192.0.2.1")
            #expect(!next.take(.bodies), "\(caller)")
            #expect(caller == .master || capacity.share(of: caller, shop, network: "192.0.2.2").take(.bodies))
            // An operator on this machine has no network.
            #expect(caller == .master || capacity.share(of: caller, shop).take(.bodies))
            #expect(next.take(.requests), "only bodies are counted by network")
            one[0].giveBackAll()
            #expect(next.take(.bodies))
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `slow bodies of one network shut out no other device of the app, and no backend`() async throws {
        try await GatewayFixture.run(configure: {
            Self.patiently(maximumRequests: 32)(&$0)
            $0.trustedProxies = TrustedProxies(AddressRanges("127.0.0.1")!)
        }) { gateway in
            var slow: [Socket?] = []
            for number in 0..<40 {
                slow.append(
                    try await Self.slowBody(
                        gateway, "PUT /api/channels/\(number)", secret: GatewayFixture.secret, from: "192.0.2.1"))
            }
            let user = "\(GatewayFixture.key):\(GatewayFixture.secret)"
            func track(_ address: String) async throws -> Int {
                try await gateway.send(
                    "PUT", "/api/activities/n/channels/c", #"{"token":"aa"}"#, user: user,
                    headers: [("X-Forwarded-For", address)]
                ).status
            }
            // One network has 16 * 4 / 8 places. Both apps have half of 64, fewer than there are slow bodies.
            try await eventually("the network has used its places") { try await track("192.0.2.1") == 503 }
            #expect(try await track("192.0.2.2") == 200)
            _ = slow.count
        }
    }

    @Test func `a body with the app secret is given up sooner, and may be smaller, than a publisher's`() async throws {
        try await GatewayFixture.run(configure: { $0.deviceReadTimeout = .milliseconds(300) }) { gateway in
            let device = try Socket(port: gateway.port)
            let user = Base64.encode("\(GatewayFixture.key):\(GatewayFixture.secret)".utf8)
            device.send(
                "PUT /api/activities/n/channels/c HTTP/1.1\r\nHost: x\r\nAuthorization: Basic \(user)\r\n"
                    + "Content-Length: 1000\r\n\r\n{")
            #expect(await device.readToEnd().hasPrefix("HTTP/1.1 408 "))
            let body = #"{"token":""# + String(repeating: "a", count: GatewayConfiguration.deviceBodyBytes) + #""}"#
            let path = "/api/activities/n/channels/c"
            let app = "\(GatewayFixture.key):\(GatewayFixture.secret)"
            #expect(try await gateway.send("PUT", path, body, user: app).status == 413)
            #expect(try await gateway.send("PUT", path, body).status == 400, "read, and no token")
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `slow forms of one network do not keep others from signing in`() async throws {
        try await GatewayFixture.run(configure: {
            Self.patiently(maximumRequests: 32)(&$0)
            $0.trustedProxies = TrustedProxies(AddressRanges("127.0.0.1")!)
        }) { gateway in
            let slow = try (0..<70).map { _ in try Socket(port: gateway.port) }
            for socket in slow {
                socket.send(
                    "POST /console/sign-in HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 192.0.2.1\r\n"
                        + "Content-Length: 100\r\n\r\na")
            }
            var browser = ConsoleBrowser(gateway)
            try await eventually("the network has used its places") {
                try await browser.signIn(headers: [("X-Forwarded-For", "192.0.2.1")]).status == 503
            }
            #expect(try await browser.signIn(headers: [("X-Forwarded-For", "192.0.2.2")]).status == 303)
            _ = slow.count
        }
        try await GatewayFixture.run(configure: { $0.signInReadTimeout = .milliseconds(300) }) { gateway in
            let slow = try Socket(port: gateway.port)
            slow.send("POST /console/sign-in HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\na")
            #expect(await slow.readToEnd().hasPrefix("HTTP/1.1 408 "))
        }
    }

    @Test func `each kind of caller has limits of its own, and each app half of them`() throws {
        let shop = try AppKey("shop")
        let bank = try AppKey("bank")
        let capacity = Capacity(requests: [.master: 4, .app: 2, .device: 2], bytes: 100, apps: 2)
        let flood = capacity.share(of: .app, shop)
        #expect(flood.take(.requests))
        #expect(!flood.take(.requests))
        let other = capacity.share(of: .app, bank)
        #expect(other.take(.requests))
        #expect(!other.take(.requests))
        let publisher = capacity.share(of: .master, shop)
        #expect(publisher.take(.requests) && publisher.take(.requests) && !publisher.take(.requests))
        #expect(publisher.take(.bytes, 50) && !publisher.take(.bytes))
        let reader = capacity.share(of: .master, bank)
        #expect(reader.take(.bytes, 50))
        publisher.giveBackAll()
        flood.giveBackAll()
        #expect(capacity.share(of: .master, shop).take(.bytes, 50))
        do {
            let forgotten = capacity.share(of: .app, shop)
            #expect(forgotten.take(.requests))
        }
        // A share that nobody has any more has given back all.
        #expect(capacity.share(of: .app, shop).take(.requests))
        #expect(!capacity.share(of: .anyone, nil).take(.requests))
        // A single app has the whole limit.
        let alone = Capacity(requests: [.master: 2], bytes: 1, apps: 1).share(of: .master, shop)
        #expect(alone.take(.requests) && alone.take(.requests) && !alone.take(.requests))
    }

    @Test func `the memory that a body's JSON takes counts, and one body always fits`() throws {
        let shop = try AppKey("shop")
        let zeros = Array(("[0" + String(repeating: ",0", count: 999) + "]").utf8)
        let text = Array(("[\"" + String(repeating: "0,", count: 998) + "0\"]").utf8)
        let share = Capacity(requests: [.device: 1], bytes: 30_000, apps: 1).share(of: .device, shop)
        try IncomingBody.takeIndex(of: text, share)
        #expect(throws: APIError.self) { try IncomingBody.takeIndex(of: zeros, share) }
        share.giveBackAll()
        var configuration = GatewayConfiguration(apps: try ["shop", "bank"].map(Self.served))
        (configuration.maximumBodyBytes, configuration.maximumBodyMemory) = (zeros.count, 1_024)
        let own = configuration.capacity.share(of: .device, shop)
        #expect(own.take(.bytes, zeros.count))
        try IncomingBody.takeIndex(of: zeros, own)
    }

    private static func served(_ key: String) throws -> GatewayApp {
        GatewayApp(key: try AppKey(key), secret: "s", masterSecret: "m")
    }

    @Test(.timeLimit(.minutes(10))) func `past the limit of requests in work the answer is 503`() async throws {
        // The fixture serves two apps, so each has half of the places.
        try await GatewayFixture.run(configure: Self.patiently(maximumRequests: 4)) { gateway in
            let held = try await Self.requestsInWork(2, gateway)
            // Both places are taken, so a third request is refused. Health and 401 still answer.
            let reply = try await gateway.publish(publishText(), path: "/api/push/validate")
            #expect(reply.status == 503)
            #expect(reply.header("retry-after") == "1")
            #expect(try await gateway.send("GET", "/healthz", user: nil).status == 200)
            #expect(try await gateway.publish(publishText(), headers: []).status == 503)
            for socket in held {
                socket.send("0\r\n\r\n")
                #expect(await socket.readAnswer().hasPrefix("HTTP/1.1 200 "))
            }
            #expect(try await gateway.publish(publishText()).status == 202)
        }
    }

    @Test(.timeLimit(.minutes(10))) func `past the limit of bulk calls the answer is 503, and other calls go on`()
        async throws
    {
        // The fixture serves two apps, so each has half of the places.
        try await GatewayFixture.run(configure: {
            Self.patiently(maximumRequests: 100)(&$0)
            $0.maximumBulkCalls = 4
        }) { gateway in
            func bulk(_ user: String) async throws -> Reply {
                try await gateway.send(
                    "POST", "/api/channels/bulk", #"{"channel":"c","add":{"g":["t"]}}"#, user: user)
            }
            let master = "\(GatewayFixture.key):\(GatewayFixture.masterSecret)"
            let held = try await Self.requestsInWork(2, gateway)
            let refused = try await bulk(master)
            #expect(refused.status == 503 && refused.header("retry-after") == "1", "\(refused.text)")
            #expect(try refused.string("error").contains("at its limit of bulk calls that run at once"))
            #expect(try await gateway.publish(publishText()).status == 202, "a publish reads no stream")
            #expect(try await bulk("other-app:other-m").status == 200, "another app has places of its own")
            for socket in held {
                socket.send("0\r\n\r\n")
                #expect(await socket.readAnswer().hasPrefix("HTTP/1.1 200 "))
            }
            #expect(try await bulk(master).status == 200)
        }
    }

    /// While Redis stands still, every call for metrics keeps its place. So the first answer is the refusal.
    @Test(.timeLimit(.minutes(10))) func `calls without a secret have a limit of their own`() async throws {
        try await GatewayFixture.run { gateway in
            gateway.server.signal(SIGSTOP)
            defer { gateway.server.signal(SIGCONT) }
            let sockets = try (0...GatewayConfiguration.openRequests).map { _ in try Socket(port: gateway.port) }
            for socket in sockets { socket.send("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n") }
            try await withThrowingTaskGroup(of: String.self) { answers in
                for socket in sockets { answers.addTask { await socket.readHead() } }
                let first = try #require(try await answers.next())
                #expect(first.hasPrefix("HTTP/1.1 503 ") && first.lowercased().contains("retry-after: 1\r\n"))
                // Health takes no place, and a wrong secret is refused before any place.
                #expect(try await gateway.send("GET", "/healthz", user: nil).status == 200)
                #expect(try await gateway.send("GET", "/api/activities", user: "nobody:x").status == 401)
                gateway.server.signal(SIGCONT)
                for try await answer in answers { #expect(answer.hasPrefix("HTTP/1.1 200 "), "\(answer)") }
            }
            #expect(try await gateway.publish(publishText()).status == 202)
        }
    }

    @Test func `connections past the limit wait instead of breaking anything`() async throws {
        try await GatewayFixture.run(configure: {
            $0.maximumConnections = 16; $0.idleTimeout = .seconds(2)
        }) { gateway in
            let idle = try (0..<40).map { _ in try Socket(port: gateway.port) }
            // This connection waits in the backlog until the idle ones are closed.
            #expect(try await gateway.send("GET", "/healthz", user: nil).status == 200)
            _ = idle.count
        }
    }

    @Test func `one address has so many connections, and gets another when it closes one`() async throws {
        try await GatewayFixture.run(configure: { $0.maximumConnectionsPerAddress = 2 }) { gateway in
            var open = try (0..<2).map { _ in try Socket(port: gateway.port) }
            for socket in open {
                socket.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(await socket.readAnswer().hasPrefix("HTTP/1.1 200 "))
            }
            let refused = try Socket(port: gateway.port)
            #expect(await refused.readToEnd() == "")
            #expect(gateway.log.all.contains { $0.contains("connection refused") && $0.contains("127.0.0.1") })
            open.removeLast()
            // The gateway notices the closed connection a moment later.
            var answer = ""
            while answer.isEmpty {
                let socket = try Socket(port: gateway.port)
                socket.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
                answer = await socket.readAnswer()
            }
            #expect(answer.hasPrefix("HTTP/1.1 200 "))
        }
    }

    @Test(arguments: [
        ("192.0.2.7", "192.0.2.7"), ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:0:a1::1", "2001:db8:0:a1::/64"), ("2001:db8:0:a1:ffff:1:2:3", "2001:db8:0:a1::/64"),
        ("2001:db8:0:a2::1", "2001:db8:0:a2::/64"), ("::1", "0:0:0:0::/64"), ("fe80::1", "fe80:0:0:0::/64"),
    ])
    func `a client of IPv6 is counted by its network of 64 bits`(address: String, network: String) {
        #expect(AddressLimit.network(of: address) == network)
    }

    @Test func `addresses of one network of IPv6 share its connections`() {
        let limit = AddressLimit(2)
        func take(_ address: String) -> Bool { limit.take(AddressLimit.network(of: address)) }
        #expect(take("2001:db8::1"))
        #expect(take("2001:db8::2"))
        #expect(!take("2001:db8::3"))
        #expect(take("2001:db8:0:1::1"))
        // Clients of IPv4 keep addresses of their own where the gateway listens on ::.
        for last in 1...4 { #expect(take("::ffff:192.0.2.\(last)")) }
        limit.giveBack(AddressLimit.network(of: "2001:db8::2"))
        #expect(take("2001:db8::3"))
    }

    @Test func `wrong credentials are logged with their address, and no more than the log can take`() async throws {
        try await GatewayFixture.run { gateway in
            for _ in 0..<300 {
                let reply = try await gateway.send("GET", "/api/activities", user: "nobody:nothing")
                #expect(reply.status == 401)
            }
            let lines = gateway.log.all.filter { $0.contains("status=401") }
            #expect(lines.first?.contains("address=127.0.0.1") == true)
        }
        let allowance = LogThrottle(burst: 2, perSecond: 1, now: .now)
        let start = ContinuousClock.now
        #expect(allowance.take(now: start) == 0 && allowance.take(now: start) == 0)
        #expect(allowance.take(now: start) == nil && allowance.take(now: start) == nil)
        #expect(allowance.take(now: start + .seconds(1)) == 2)
        #expect(allowance.take(now: start + .seconds(1)) == nil)
    }

    @Test func `garbage instead of HTTP is answered and survived`() async throws {
        try await GatewayFixture.run { gateway in
            for garbage in [
                "\u{1}\u{2}\u{3}\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n",
                "POST /api/push HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
                "POST /api/push HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                "GET /healthz HTTP/1.1\r\nHost: x\r\nX: \(String(repeating: "y", count: 40_000))\r\n\r\n",
            ] {
                let socket = try Socket(port: gateway.port)
                socket.send(garbage)
                let answer = await socket.readHead()
                #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 4"), "\(answer)")
            }
            #expect(try await gateway.send("GET", "/healthz", user: nil).status == 200)
        }
    }

    @Test func `a client that asks first is told to go on, unless its body is too large`() async throws {
        try await GatewayFixture.run { gateway in
            let head =
                "POST /api/push HTTP/1.1\r\nHost: x\r\n\(Self.authorization)Expect: 100-continue\r\nContent-Length: "
            let asking = try Socket(port: gateway.port)
            asking.send("\(head)\(publishText().utf8.count)\r\n\r\n")
            #expect(await asking.readHead().hasPrefix("HTTP/1.1 100 Continue\r\n"))
            asking.send(publishText())
            #expect(await asking.readAnswer().hasPrefix("HTTP/1.1 202 "))
            let large = try Socket(port: gateway.port)
            large.send("\(head)2000000\r\n\r\n")
            #expect(await large.readHead().hasPrefix("HTTP/1.1 413 "))
            // HTTP/1.0 knows no such answer: the client sends its body at once.
            let old = try Socket(port: gateway.port)
            old.send(
                head.replacing("HTTP/1.1", with: "HTTP/1.0") + "\(publishText().utf8.count)\r\n\r\n\(publishText())")
            #expect(await old.readToEnd().hasPrefix("HTTP/1.1 202 "))
        }
    }

    /// To be told to go on would tell that the secret is right, and cost a stranger's body.
    @Test(arguments: [
        ("POST /api/push", "wrong", "401"), ("POST /nope", GatewayFixture.masterSecret, "404"),
        ("DELETE /api/push", GatewayFixture.masterSecret, "405"), ("POST /console/pause", "", "401"),
        ("POST /api/push", GatewayFixture.secret, "401"),
    ])
    func `a client that asks first is refused before it sends its body`(
        call: String, secret: String, status: String
    ) async throws {
        try await GatewayFixture.run { gateway in
            let user = Base64.encode("\(GatewayFixture.key):\(secret)".utf8)
            let socket = try Socket(port: gateway.port)
            socket.send(
                "\(call) HTTP/1.1\r\nHost: x\r\nAuthorization: Basic \(user)\r\nExpect: 100-continue\r\n"
                    + "Content-Length: 20\r\n\r\n")
            let answer = await socket.readToEnd()
            #expect(answer.hasPrefix("HTTP/1.1 \(status) ") && answer.lowercased().contains("connection: close"))
        }
    }

    @Test func `chunks need HTTP 1_1, and probes no host`() async throws {
        try await GatewayFixture.run { gateway in
            func answer(_ request: String) async throws -> String {
                let socket = try Socket(port: gateway.port)
                socket.send(request)
                return await socket.readToEnd()
            }
            let chunked = "Host: x\r\n\(Self.authorization)Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
            let refused = try await answer("POST /api/push HTTP/1.0\r\n\(chunked)")
            #expect(refused.hasPrefix("HTTP/1.1 501 "))
            for version in ["1.0", "1.1"] {
                func status(_ path: String) async throws -> String {
                    let head = "GET \(path) HTTP/\(version)\r\nHost:\r\nConnection: close\r\n\r\n"
                    return String(try await answer(head).prefix(12))
                }
                for probe in ["/healthz", "/readyz", "/metrics"] {
                    #expect(try await status(probe) == "HTTP/1.1 200", "\(probe) \(version)")
                }
                #expect(try await status("/openapi.json") == "HTTP/1.1 400")
            }
        }
    }

    @Test(.timeLimit(.minutes(10))) func `shutdown waits for the requests in work`() async throws {
        try await GatewayFixture.run(configure: Self.patiently(maximumRequests: 1)) { gateway in
            let working = try #require(try await Self.slowBody(gateway))
            let idle = try Socket(port: gateway.port)
            await gateway.group.triggerGracefulShutdown()
            #expect(await idle.readToEnd() == "")
            working.send(publishText())
            #expect(await working.readToEnd().hasPrefix("HTTP/1.1 202 "))
        }
    }

    @Test func `HEAD is GET without a body`() async throws {
        try await GatewayFixture.run { gateway in
            let socket = try Socket(port: gateway.port)
            socket.send(
                "HEAD /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
            )
            let text = await socket.readToEnd()
            #expect(text.occurrences(of: "HTTP/1.1 200 OK") == 2)
            #expect(text.occurrences(of: #"{"ok":true"#) == 1)
        }
    }
}
