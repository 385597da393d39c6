import Foundation
import Synchronization
import TestSupport
import Testing

@testable import LamplighterKit

/// A token by App Attest, with a double of Apple's service. `AttestationCallsTests` has the gateway's end.
@Suite struct AppAttestTests {
    private final class Device: AppAttestService {
        private let state = Mutex((made: 0, isLost: false))
        var isLost: Bool {
            get { state.withLock { $0.isLost } }
            set { state.withLock { $0.isLost = newValue } }
        }

        func generateKey() -> String {
            state.withLock { state in
                (state.made, state.isLost) = (state.made + 1, false)
                return "key-\(state.made)"
            }
        }

        func attestation(of key: String, _ clientData: Data) -> Data { Data("attests \(key) ".utf8) + clientData }

        func assertion(by key: String, _ clientData: Data) throws -> Data {
            if isLost { throw AppAttest.Failure(description: "invalid key") }
            return Data("asserts \(key) ".utf8) + clientData
        }
    }

    private let directory: TemporaryDirectory
    private let device = Device()
    private let gateway = FakeGateway()

    init() throws { directory = try TemporaryDirectory() }

    private static func answer(_ number: Int) -> (status: Int, fields: [String: String], body: String) {
        (200, [:], #"{"ok":true,"challenge":"c\#(number)","token":"t\#(number)"}"#)
    }

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
        device.isLost = true
        gateway.answer(Self.answer(5))
        #expect(try await token() == "t5")
        gateway.answer(Self.answer(6), (403, [:], #"{"ok":false,"error":"unknown","error_code":40305}"#))
        gateway.answer(Self.answer(8), Self.answer(9))
        #expect(try await token() == "t9")
        #expect(
            proofs == ["attests key-1 c1:d", "attests key-2 c4:d", "asserts key-2 c6:d", "attests key-3 c8:d"])
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
