import Foundation
import Synchronization
import TestSupport
import Testing

@testable import LamplighterKit

/// A token by App Attest, with a double of Apple's service. `AttestationCallsTests` has the gateway's end.
@Suite struct AppAttestTests {
    private struct Away: Error {}

    private final class Device: AppAttestService {
        private struct State {
            var made = 0
            var isLost = false
            var isAway = false
        }
        private let state = Mutex(State())

        /// The keys are gone, as after a restored backup.
        func lose() { state.withLock { $0.isLost = true } }
        /// Apple's service answers no more, or again.
        func setAway(_ isAway: Bool) { state.withLock { $0.isAway = isAway } }

        func generateKey() -> String {
            state.withLock { state in
                (state.made, state.isLost) = (state.made + 1, false)
                return "key-\(state.made)"
            }
        }

        func attestation(of key: String, _ clientData: Data) throws -> Data {
            try prove("attests \(key) ", clientData)
        }

        func assertion(by key: String, _ clientData: Data) throws -> Data { try prove("asserts \(key) ", clientData) }

        private func prove(_ words: String, _ clientData: Data) throws -> Data {
            let now = state.withLock { $0 }
            if now.isAway { throw Away() }
            if now.isLost { throw AppAttest.InvalidKey() }
            return Data(words.utf8) + clientData
        }
    }

    private let directory: TemporaryDirectory
    private let device = Device()
    private let gateway = FakeGateway()

    init() throws { directory = try TemporaryDirectory() }

    private static func answer(_ number: Int) -> (status: Int, fields: [String: String], body: String) {
        (200, [:], #"{"ok":true,"challenge":"c\#(number)","token":"t\#(number)"}"#)
    }

    private static let unknown =
        (403, [:], #"{"ok":false,"error":"unknown","error_code":40305}"#)
        as (status: Int, fields: [String: String], body: String)

    /// A launch of the app, which asks for the token.
    private func token() async throws -> String {
        let file = URL(fileURLWithPath: directory.path("attested-key"))
        let tokens = Gateway(
            url: URL(string: "https://push.example.com")!, appKey: "shop", clock: FakeClock().clock,
            transport: gateway.transport, attestation: (device, file)
        ) { _ in .attestation }
        return try await tokens.access.token(for: "d").0
    }

    private var proofs: [String] {
        gateway.requests.filter { !$0.body.isEmpty }.map { request in
            let body = try? JSONSerialization.jsonObject(with: Data(request.body.utf8)) as? [String: String]
            let proof = body?["attestation"] ?? body?["assertion"]
            return proof.flatMap { Data(base64Encoded: $0) }.map { String(decoding: $0, as: UTF8.self) } ?? ""
        }
    }

    @Test func `a key is attested once, and then asserts at each launch`() async throws {
        for number in 1...4 { gateway.answer(Self.answer(number)) }
        #expect(try await token() == "t2")
        #expect(try await token() == "t4")
        #expect(proofs == ["attests key-1 c1:d", "asserts key-1 c3:d"])
        #expect(Set(gateway.requests.map(\.path)) == ["/api/auth/attest"] && gateway.requests[0].token == "")
    }

    @Test func `a key that the device or the gateway lost is replaced`() async throws {
        for number in 1...4 { gateway.answer(Self.answer(number)) }
        _ = try await token()
        device.lose()
        gateway.answer(Self.answer(5))
        #expect(try await token() == "t5")
        gateway.answer(Self.answer(6), Self.unknown, Self.answer(8), Self.answer(9))
        #expect(try await token() == "t9")
        #expect(
            proofs == ["attests key-1 c1:d", "attests key-2 c4:d", "asserts key-2 c6:d", "attests key-2 c8:d"])
    }

    @Test func `while Apple's service is away each attempt is about the same key`() async throws {
        device.setAway(true)
        for number in 1...5 {
            gateway.answer(Self.answer(number))
            await #expect(throws: Away.self) { try await token() }
        }
        device.setAway(false)
        gateway.answer(Self.answer(6), Self.answer(7))
        #expect(try await token() == "t7" && proofs == ["attests key-1 c6:d"])
        // An assertion fails for a reason that passes.
        device.setAway(true)
        gateway.answer(Self.answer(8))
        await #expect(throws: Away.self) { try await token() }
        device.setAway(false)
        gateway.answer(Self.answer(9), Self.answer(10))
        #expect(try await token() == "t10" && proofs.last == "asserts key-1 c9:d")
    }

    @Test(arguments: [true, false])
    func `an attestation whose answer is lost is no other key's`(_ itArrived: Bool) async throws {
        gateway.answer(Self.answer(1), nil)
        await #expect(throws: URLError.self) { try await token() }
        gateway.answer(Self.answer(3))
        if !itArrived { gateway.answer(Self.unknown, Self.answer(5)) }
        gateway.answer(Self.answer(6))
        #expect(try await token() == "t6")
        #expect(proofs.dropFirst() == (["asserts key-1 c3:d"] + (itArrived ? [] : ["attests key-1 c5:d"]))[...])
    }

    @Test func `a page that is no answer of the gateway proves nothing`() async throws {
        gateway.answer((200, [:], "<html></html>"))
        await #expect(throws: AppAttest.Failure.self) { try await token() }
        gateway.answer(Self.answer(2), (200, [:], #"{"ok":false,"token":"t"}"#))
        await #expect(throws: AppAttest.Failure.self) { try await token() }
    }

    @Test func `a refusal keeps the key, and names the gateway's words and the remedy`() async throws {
        gateway.answer(Self.answer(1), Self.answer(2), Self.answer(3))
        _ = try await token()
        gateway.answer((403, [:], #"{"ok":false,"error":"its counter did not grow","error_code":40304}"#))
        let error = await #expect(throws: AppAttest.Failure.self) { try await token() }
        #expect(
            error?.description == "the gateway gave no token by App Attest: 403 its counter did not grow. "
                + "Look at `attestation` of the app in the gateway's configuration")
        gateway.answer(Self.answer(5), Self.answer(6))
        #expect(try await token() == "t6" && proofs.last == "asserts key-1 c5:d")
    }
}
