import LiveActivity
import Redis
import Testing

@testable import Store

/// Tests the one provider token of all workers of an app. Times are seconds since 1970 on the workers' clocks.
@Suite struct ProviderTokensTests {
    private static let start = 1_795_000_000

    /// Acts as a worker that has just signed a token by its own clock.
    private func agree(
        _ fixture: PushFixture, _ jwt: String?, at now: Int, refused: String? = nil, key: String = "TEAM.KEY.1f"
    ) async throws -> String? {
        try await fixture.store.providerTokens.agree(
            fixture.app, key: key, candidate: jwt.map { ProviderToken(jwt: $0, issuedAt: now) },
            refused: refused.map { ProviderToken(jwt: $0, issuedAt: 0) }, now: now)?.jwt
    }

    @Test func `ten workers that start within twenty-five minutes send with one token`() async throws {
        let fixture = try await PushFixture.start()
        var used: Set<String?> = []
        for worker in 0..<10 {
            used.insert(try await agree(fixture, "jwt-\(worker)", at: Self.start + worker * 149))
        }
        #expect(used == ["jwt-0"])
        let later = try await fixture.store.providerTokens.agree(
            fixture.app, key: "TEAM.KEY.1f", candidate: nil, refused: nil, now: Self.start + 1_400)
        #expect(later == ProviderToken(jwt: "jwt-0", issuedAt: Self.start), "with the time it was issued")
    }

    @Test func `a token of twenty-five minutes is replaced by the first who asks, for all`() async throws {
        let fixture = try await PushFixture.start()
        #expect(try await agree(fixture, "old", at: Self.start) == "old")
        #expect(try await agree(fixture, "early", at: Self.start + 1_499) == "old")
        #expect(try await agree(fixture, "new", at: Self.start + 1_500) == "new")
        #expect(try await agree(fixture, "late", at: Self.start + 1_501) == "new")
    }

    @Test func `of all who are told that the token has expired, the first replaces it and the others take the new one`()
        async throws
    {
        let fixture = try await PushFixture.start()
        #expect(try await agree(fixture, "a", at: Self.start) == "a")
        #expect(try await agree(fixture, "b", at: Self.start + 60, refused: "a") == "b")
        for worker in 0..<9 {
            #expect(try await agree(fixture, "c\(worker)", at: Self.start + 61, refused: "a") == "b")
        }
    }

    @Test func `a replacement that is refused as well stays for twenty minutes, whoever asks`() async throws {
        let fixture = try await PushFixture.start()
        _ = try await agree(fixture, "a", at: Self.start)
        _ = try await agree(fixture, "b", at: Self.start + 60, refused: "a")
        #expect(try await agree(fixture, "c", at: Self.start + 61, refused: "b") == nil)
        #expect(try await agree(fixture, "c", at: Self.start + 60 + 1_199, refused: "b") == nil)
        #expect(try await agree(fixture, nil, at: Self.start + 60 + 1_200, refused: "b") == nil, "none may be made")
        #expect(try await agree(fixture, "c", at: Self.start + 60 + 1_200, refused: "b") == "c")
    }

    @Test func `a worker whose clock runs far ahead does not give its token to the others`() async throws {
        let fixture = try await PushFixture.start()
        #expect(try await agree(fixture, "ahead", at: Self.start + 3_600) == "ahead")
        #expect(try await agree(fixture, "right", at: Self.start) == "right")
        #expect(try await agree(fixture, "near", at: Self.start - 60) == "right")
    }

    @Test func `a replacement from before the clock was set back is replaced at once if APNs refuses it`() async throws
    {
        let fixture = try await PushFixture.start()
        _ = try await agree(fixture, "a", at: Self.start + 3_000)
        _ = try await agree(fixture, "b", at: Self.start + 3_600, refused: "a")
        #expect(try await agree(fixture, "c", at: Self.start, refused: "b") == "c")
    }

    @Test func `apps and keys have tokens of their own, and a token lies in Redis for forty minutes`() async throws {
        let fixture = try await PushFixture.start()
        #expect(try await agree(fixture, "a", at: Self.start) == "a")
        #expect(try await agree(fixture, "b", at: Self.start, key: "TEAM.OTHER.2e") == "b")
        let other = try await fixture.store.providerTokens.agree(
            try AppKey("bank"), key: "TEAM.KEY.1f", candidate: ProviderToken(jwt: "c", issuedAt: Self.start),
            refused: nil,
            now: Self.start)
        #expect(other?.jwt == "c")
        let key = fixture.store.keys.providerToken(fixture.app, "TEAM.KEY.1f")
        let life = try await fixture.store.redis.send(RedisCommand("PTTL", key)).integer()
        #expect((1...40 * 60_000).contains(life))
    }

    @Test func `a token describes itself without the credential`() {
        #expect("\(ProviderToken(jwt: "secret", issuedAt: 5))" == "provider token issued at 5")
    }
}
