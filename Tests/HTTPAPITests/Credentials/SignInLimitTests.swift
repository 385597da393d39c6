import TestSupport
import Testing

@testable import HTTPAPI

/// Wrong secrets are slowed down.
@Suite struct SignInLimitTests {
    private let start = ContinuousClock.now
    private func from(_ peer: String) -> ClientAddress { ClientAddress(peer: peer) }

    @Test func `an address has so many wrong secrets a minute, and gets them back with time`() {
        let limit = SignInLimit { 3 }
        for _ in 0..<3 {
            #expect(limit.wait(from("192.0.2.1"), "Basic x", now: start) == nil)
            limit.failed(from("192.0.2.1"), now: start)
        }
        #expect(limit.wait(from("192.0.2.1"), "Basic x", now: start) == 20)
        #expect(limit.wait(from("192.0.2.1"), "Basic x", now: start + .seconds(15)) == 5)
        #expect(limit.wait(from("192.0.2.1"), "Basic x", now: start + .seconds(20)) == nil)
        #expect(limit.wait(from("192.0.2.2"), "Basic x", now: start) == nil, "another address")
    }

    @Test func `what was right before is still compared`() {
        let limit = SignInLimit { 1 }
        limit.succeeded(from("192.0.2.1"), "Basic right")
        limit.failed(from("192.0.2.1"), now: start)
        #expect(limit.wait(from("192.0.2.1"), "Basic right", now: start) == nil)
        #expect(limit.wait(from("192.0.2.1"), "Basic other", now: start) == 60)
    }

    @Test func `a network of IPv6 counts as one, this machine and limit 0 not at all`() {
        let limit = SignInLimit { 1 }
        limit.failed(from("2001:db8::1"), now: start)
        #expect(limit.wait(from("2001:db8::2"), "Basic x", now: start) == 60)
        #expect(limit.wait(from("2001:db8:1::2"), "Basic x", now: start) == nil)
        for address in ["127.0.0.1", "::1", "::ffff:127.0.0.1"] {
            limit.failed(from(address), now: start)
            #expect(limit.wait(from(address), "Basic x", now: start) == nil)
        }
        let off = SignInLimit { 0 }
        off.failed(from("192.0.2.1"), now: start)
        #expect(off.wait(from("192.0.2.1"), "Basic x", now: start) == nil)
    }

    @Test func `it holds a bounded number of addresses, and forgets those with most left`() {
        let limit = SignInLimit { 2 }
        for _ in 0..<2 { limit.failed(from("192.0.2.1"), now: start) }
        for number in 0..<12_000 {
            limit.failed(from("10.\(number / 65_536).\(number / 256 % 256).\(number % 256)"), now: start)
        }
        #expect(limit.wait(from("192.0.2.1"), "Basic x", now: start) != nil)
    }

    @Test func `a guesser is answered 429, devices and a secret that was right before are not`() async throws {
        try await GatewayFixture.run(configure: {
            $0.trustedProxies = TrustedProxies(AddressRanges("127.0.0.1")!)
            $0.failedSignInsPerMinute = 2
        }) { gateway in
            let from = [("X-Forwarded-For", "192.0.2.1")]
            func status(_ secret: String, _ headers: [(String, String)]) async throws -> Int {
                try await gateway.send(
                    "GET", "/api/pauses", user: "\(GatewayFixture.key):\(secret)", headers: headers
                ).status
            }
            #expect(try await status(GatewayFixture.masterSecret, from) == 200)
            for number in 0..<2 { #expect(try await status("wrong-\(number)", from) == 401) }
            let refused = try await gateway.send(
                "GET", "/api/pauses", user: "\(GatewayFixture.key):wrong", headers: from)
            #expect(refused.status == 429 && refused.header("retry-after") != nil, "\(refused.text)")
            // Even a right secret is not compared, so that guessing is slow.
            #expect(try await status(GatewayFixture.secret, from) == 429)
            #expect(try await status(GatewayFixture.masterSecret, from) == 200)
            #expect(try await status("wrong", [("X-Forwarded-For", "192.0.2.2")]) == 401)
            let bearer = [("Authorization", "Bearer a.b.c"), ("X-UA-Appkey", GatewayFixture.key)] + from
            #expect(try await gateway.send("GET", "/api/pauses", user: nil, headers: bearer).status == 401)
        }
    }

    @Test func `clients of a proxy on this machine that nobody named count as one, and the log says so once`()
        async throws
    {
        try await GatewayFixture.run(configure: {
            $0.failedSignInsPerMinute = 2
            $0.requestsPerAddress = 1
        }) { gateway in
            func status(_ headers: [(String, String)]) async throws -> Int {
                try await gateway.send("GET", "/api/pauses", user: "\(GatewayFixture.key):wrong", headers: headers)
                    .status
            }
            for _ in 0..<5 { #expect(try await status([]) == 401, "an operator on this machine") }
            let warned = { gateway.log.all.count { $0.contains("is not in gateway.trusted_proxies") } }
            #expect(warned() == 0)
            var answers: [Int] = []
            for number in 0..<20 { answers.append(try await status([("X-Forwarded-For", "192.0.2.\(number)")])) }
            #expect(answers.contains(429) && answers.count { $0 == 401 } <= 2, "\(answers)")
            #expect(warned() == 1)
        }
    }
}
