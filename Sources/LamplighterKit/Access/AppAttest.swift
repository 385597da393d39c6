import Foundation

/// Apple's App Attest. `DCAppAttestService` is the one of iOS; tests bring another.
protocol AppAttestService: Sendable {
    func generateKey() async throws -> String
    func attestation(of key: String, _ clientData: Data) async throws -> Data
    func assertion(by key: String, _ clientData: Data) async throws -> Data
}

/// Gets tokens from the gateway by App Attest, without a backend of the app.
struct AppAttest: Sendable {
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    /// Sends a request for a channel, with header fields.
    typealias Send = @Sendable (WireRequest, String, [(String, String)]) async throws -> (status: Int, body: Data)

    /// The gateway does not know the key for this channel.
    private static let unknownKey = 40305
    let service: any AppAttestService
    /// Where the id of the attested key is kept. The key itself is in the device's Secure Enclave.
    let file: URL
    let send: Send

    func token(for channel: String) async throws -> String {
        if let key = try? String(contentsOf: file, encoding: .utf8) {
            let challenge = try await challenge(channel)
            // The key is gone after a restored backup.
            if let proof = try? await service.assertion(by: key, Self.clientData(challenge, channel)) {
                let (status, body) = try await exchange(key, channel, challenge, assertion: proof)
                if status == 200 { return try Self.token(body) }
                let refusal = Self.refusal(body)
                guard refusal?.code == Self.unknownKey else { throw Self.failure(status, refusal) }
            }
            try? FileManager.default.removeItem(at: file)
        }
        let challenge = try await challenge(channel)
        let key = try await service.generateKey()
        let proof = try await service.attestation(of: key, Self.clientData(challenge, channel))
        let (status, body) = try await exchange(key, channel, challenge, attestation: proof)
        guard status == 200 else { throw Self.failure(status, Self.refusal(body)) }
        // Without the file the next launch attests another key.
        try? Data(key.utf8).write(to: file, options: .atomic)
        return try Self.token(body)
    }

    private func challenge(_ channel: String) async throws -> String {
        let (status, body) = try await send(.challenge, channel, [])
        guard status == 200 else { throw Self.failure(status, Self.refusal(body)) }
        return try JSONDecoder().decode(Challenge.self, from: body).challenge
    }

    private func exchange(
        _ key: String, _ channel: String, _ challenge: String, attestation: Data? = nil, assertion: Data? = nil
    ) async throws -> (status: Int, body: Data) {
        let proof = AttestBody(
            channel: channel, key: key, challenge: challenge, attestation: attestation?.base64EncodedString(),
            assertion: assertion?.base64EncodedString())
        return try await send(WireRequest(proof), channel, [])
    }

    /// Its SHA-256 is what Apple signs.
    private static func clientData(_ challenge: String, _ channel: String) -> Data {
        Data("\(challenge):\(channel)".utf8)
    }

    private static func token(_ body: Data) throws -> String {
        try JSONDecoder().decode(Exchanged.self, from: body).token
    }

    private static func refusal(_ body: Data) -> GatewayAnswer? {
        try? JSONDecoder().decode(GatewayAnswer.self, from: body)
    }

    private static func failure(_ status: Int, _ refusal: GatewayAnswer?) -> Failure {
        Failure(
            description: "the gateway gave no token by App Attest: \(status) \(refusal?.error ?? "without its words"). "
                + "Look at `attestation` of the app in the gateway's configuration")
    }
}

private struct Challenge: Decodable { var challenge: String }
