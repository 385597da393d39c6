import LiveActivity
import Foundation
import OpenSSL
import Synchronization
import Testing

@testable import APNsClient

@Suite struct ProviderTokenTests {
    private let pem: [UInt8]
    private let publicKey: P256PublicKey

    init() throws {
        pem = try P256SigningKey.generatePEM()
        publicKey = try P256PublicKey(pem: pem)
    }

    private func source(_ clock: Clock) throws -> ProviderTokenSource {
        ProviderTokenSource(APNsKeyRing([APNsKey(teamID: "TEAM123456", keyID: "ABC1234567", pem: pem)])) { clock.now }
    }

    @Test func `header and claims are exactly Apple's template`() throws {
        let token = try ProviderToken(
            keyID: "ABC1234567", teamID: "TEAM123456", issuedAt: 1_790_000_000, key: P256SigningKey(pem: pem))
        let parts = token.jwt.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        #expect(parts.count == 3)
        #expect(parts[0] == "eyJhbGciOiJFUzI1NiIsImtpZCI6IkFCQzEyMzQ1NjcifQ")
        #expect(parts[1] == "eyJpc3MiOiJURUFNMTIzNDU2IiwiaWF0IjoxNzkwMDAwMDAwfQ")
        #expect(decode(parts[0]) == Data(#"{"alg":"ES256","kid":"ABC1234567"}"#.utf8))
        #expect(decode(parts[1]) == Data(#"{"iss":"TEAM123456","iat":1790000000}"#.utf8))
    }

    @Test func `the public key verifies the signature`() throws {
        // Test many signatures, because a leading zero in r or s (1 in 128) changes the length of the DER form.
        let key = try P256SigningKey(pem: pem)
        for issuedAt in 0..<600 {
            let token = try ProviderToken(keyID: "K", teamID: "T", issuedAt: issuedAt, key: key)
            let parts = token.jwt.split(separator: ".").map(String.init)
            let raw = try #require(decode(parts[2]))
            #expect(publicKey.isValid(Array(raw), for: Array("\(parts[0]).\(parts[1])".utf8)))
        }
    }

    @Test func `describes itself without the credential`() throws {
        let token = try source(Clock(5)).current()
        #expect("\(token)" == "provider token issued at 5")
    }

    @Test func `a token claims to be a quarter of an hour old, for Apple takes none from the future`() throws {
        let token = try source(Clock(1_000_900)).current()
        let claims = try #require(token.jwt.split(separator: ".").dropFirst().first.flatMap { decode(String($0)) })
        #expect(claims == Data(#"{"iss":"TEAM123456","iat":1000000}"#.utf8) && token.issuedAt == 1_000_900)
        // Ten minutes of Apple's hour are left when it is replaced.
        #expect(RenewalRule.renewalAge + RenewalRule.backdating == 50 * 60)
        #expect(RenewalRule.lastAge + RenewalRule.backdating == 58 * 60)
    }

    @Test func `one token serves for thirty-five minutes`() throws {
        let clock = Clock(1_000_000)
        let source = try source(clock)
        let first = try source.current()
        clock.now += 35 * 60 - 1
        #expect(try source.current() == first)
        clock.now += 1
        let second = try source.current()
        #expect(second.issuedAt == 1_000_000 + 35 * 60)
    }

    @Test func `a token from before the clock was set back is replaced, and a refused key is tried again`() throws {
        let clock = Clock(1_000_000)
        let source = try source(clock)
        let replacement = try #require(try source.renew(ifCurrent: try source.current()))
        #expect(try source.renew(ifCurrent: replacement) == nil, "once in twenty minutes")
        clock.now -= 3_600
        #expect(try source.renew(ifCurrent: replacement)?.issuedAt == clock.now)
        clock.now -= 3_600
        #expect(try source.current().issuedAt == clock.now)
    }

    @Test func `an expired token is replaced once for all who held it`() throws {
        let clock = Clock(1_000_000)
        let source = try source(clock)
        let first = try source.current()
        clock.now += 60
        let second = try #require(try source.renew(ifCurrent: first))
        #expect(second != first)
        // Another lane's responses to the first token come later.
        #expect(try source.renew(ifCurrent: first) == second)
        #expect(try source.current() == second)
    }

    @Test func `a replacement that is called expired too is kept for twenty minutes`() throws {
        let clock = Clock(1_000_000)
        let source = try source(clock)
        let second = try #require(try source.renew(ifCurrent: source.current()))
        clock.now += 20 * 60 - 1
        #expect(try source.renew(ifCurrent: second) == nil)
        #expect(try source.current() == second)
        clock.now += 1
        #expect(try source.renew(ifCurrent: second) != nil)
    }

    @Test func `a clock set back makes a new token`() throws {
        let clock = Clock(1_000_000)
        let source = try source(clock)
        _ = try source.current()
        clock.now -= 61
        #expect(try source.current().issuedAt == 1_000_000 - 61)
    }

    @Test func `many threads share one token`() async throws {
        let source = try source(Clock(1_000_000))
        let tokens = try await withThrowingTaskGroup(of: ProviderToken.self) { group in
            for _ in 0..<64 { group.addTask { try source.current() } }
            return try await group.reduce(into: Set<ProviderToken>()) { $0.insert($1) }
        }
        #expect(tokens.count == 1)
    }

    @Test(arguments: ["", "f", "fo", "foo", "foob", "fooba", "foobar", "\u{ff}\u{fe}>>??"])
    func `base64 matches Foundation's`(_ text: String) {
        let expected = Data(text.utf8).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        #expect(Base64.encodeURL(text.utf8) == expected)
    }

    private func decode(_ text: String) -> Data? {
        let standard = text.replacing("-", with: "+").replacing("_", with: "/")
        return Data(base64Encoded: standard + String(repeating: "=", count: (4 - standard.count % 4) % 4))
    }
}

/// A clock that shows the time that the test sets.
final class Clock: Sendable {
    private let time: Mutex<Int>
    init(_ now: Int) { time = Mutex(now) }
    var now: Int {
        get { time.withLock { $0 } }
        set { time.withLock { $0 = newValue } }
    }
}
