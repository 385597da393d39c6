import Foundation
import LiveActivity
import OpenSSL
import Synchronization
import Testing

@testable import APNsClient

/// Tests how a process reacts to the other processes' choice of the provider token.
@Suite struct ProviderTokenShareTests {
    private let key: P256SigningKey

    init() throws { key = try P256SigningKey(pem: P256SigningKey.generatePEM()) }

    private func source(
        _ share: any ProviderTokenShare, patience: Duration = .seconds(60)
    ) -> ProviderTokenSource {
        ProviderTokenSource(
            APNsKeyRing([APNsKey(teamID: "TEAM123456", keyID: "ABC1234567", key: key)]), share: share,
            patience: patience
        ) {
            1_000_000
        }
    }

    @Test func `the token of the others is used`() async throws {
        let theirs = ProviderToken(jwt: "theirs", issuedAt: 999_000)
        let share = ScriptedShare { _, _ in .use(theirs) }
        let source = source(share)
        for _ in 0..<3 { #expect(try await onThread { try source.current() } == theirs) }
        let asked = share.questions
        #expect(asked.count == 1, "once an hour, not once a page")
        #expect(asked.first?.candidate?.issuedAt == 1_000_000 && asked.first?.refused == nil)
        let identity = try #require(asked.first?.key)
        #expect(identity.hasPrefix("TEAM123456.ABC1234567.") && identity.count == 22 + 16)
    }

    @Test func `keys are told apart by their public half`() throws {
        let other = try P256SigningKey(pem: P256SigningKey.generatePEM())
        #expect(try key.fingerprint() == key.fingerprint())
        #expect(try key.fingerprint() != other.fingerprint())
    }

    @Test(arguments: [1_000_000 - 35 * 60, 1_000_000 + 61])
    func `a token that is not good by this clock is not used`(issuedAt: Int) async throws {
        let share = ScriptedShare { _, _ in .use(ProviderToken(jwt: "theirs", issuedAt: issuedAt)) }
        let source = source(share)
        #expect(try await onThread { try source.current() }.issuedAt == 1_000_000)
    }

    @Test func `where nobody can be asked each signs for itself`() async throws {
        let source = source(ScriptedShare { _, _ in .unavailable })
        let own = try await onThread { try source.current() }
        #expect(own.issuedAt == 1_000_000)
        let next = try await onThread { try source.renew(ifCurrent: own) }
        #expect(next != nil && next != own)
    }

    @Test func `an answer that does not come is not waited for for ever`() async throws {
        let share = SilentShare()
        let source = source(share, patience: .milliseconds(50))
        let own = try await onThread { try source.current() }
        #expect(own.issuedAt == 1_000_000 && own.jwt != "late")
        await share.answer()
        #expect(try await onThread { try source.current() } == own, "an answer that comes late changes nothing")
    }

    @Test func `of a refused token the others are told and theirs is taken`() async throws {
        let theirs = ProviderToken(jwt: "theirs", issuedAt: 1_000_000)
        let share = ScriptedShare { candidate, refused in refused == nil ? .use(candidate!) : .use(theirs) }
        let source = source(share)
        let own = try await onThread { try source.current() }
        #expect(try await onThread { try source.renew(ifCurrent: own) } == theirs)
        #expect(share.questions.last?.refused == own)
        #expect(try await onThread { try source.renew(ifCurrent: own) } == theirs, "known by now")
        #expect(share.questions.count == 2)
        #expect(try await onThread { try source.renew(ifCurrent: theirs) } == nil || share.questions.count == 3)
        #expect(share.questions.last?.candidate == nil, "no second one within twenty minutes, unless another made it")
    }

    @Test func `when it is too early for another there is none`() async throws {
        let share = ScriptedShare { candidate, refused in refused == nil ? .use(candidate!) : .none }
        let source = source(share)
        let own = try await onThread { try source.current() }
        #expect(try await onThread { try source.renew(ifCurrent: own) } == nil)
        #expect(try await onThread { try source.current() } == own)
    }

    // MARK: One renewal too many

    @Test func `a new token that is one too many waits for the old ones end`() throws {
        let clock = Clock(1_000_000)
        let source = ProviderTokenSource(APNsKeyRing([APNsKey(teamID: "T", keyID: "K", key: key)])) { clock.now }
        let old = try source.current()
        #expect(source.fallBack(from: old) == nil, "there is none before it")
        clock.now += 35 * 60
        let new = try source.current()
        #expect(new != old)
        #expect(source.fallBack(from: new) == old)
        #expect(source.fallBack(from: new) == old, "other lanes' answers come later")
        #expect(try source.current() == old)
        clock.now += 8 * 60 - 1
        #expect(try source.current() == old)
        clock.now += 1
        #expect(try source.current() == new, "before the old one is an hour old")
    }
}

/// Runs the body on its own thread, because it may block a lane's thread but not one of the pool.
private func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
    }
}

private final class ScriptedShare: ProviderTokenShare {
    struct Question: Sendable {
        var key: String
        var candidate: ProviderToken?
        var refused: ProviderToken?
    }

    private let asked = Mutex<[Question]>([])
    private let answer: @Sendable (_ candidate: ProviderToken?, _ refused: ProviderToken?) -> ProviderTokenAgreement

    init(
        _ answer: @escaping @Sendable (_ candidate: ProviderToken?, _ refused: ProviderToken?) -> ProviderTokenAgreement
    ) {
        self.answer = answer
    }

    var questions: [Question] { asked.withLock { $0 } }

    func agree(
        key: String, candidate: ProviderToken?, refused: ProviderToken?, now: Int
    ) async -> ProviderTokenAgreement {
        asked.withLock { $0.append(Question(key: key, candidate: candidate, refused: refused)) }
        return answer(candidate, refused)
    }
}

/// A Redis that is stopped, and answers when the test says so.
private actor SilentShare: ProviderTokenShare {
    private var mayAnswer = false
    private var questions: [CheckedContinuation<Void, Never>] = []

    func agree(
        key: String, candidate: ProviderToken?, refused: ProviderToken?, now: Int
    ) async -> ProviderTokenAgreement {
        if !mayAnswer { await withCheckedContinuation { questions.append($0) } }
        return .use(ProviderToken(jwt: "late", issuedAt: now))
    }

    func answer() {
        mayAnswer = true
        for question in questions { question.resume() }
    }
}
