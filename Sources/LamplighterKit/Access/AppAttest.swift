import Foundation

/// Apple's App Attest. `DCAppAttestService` is iOS's service; tests bring another. Only `AppAttest.InvalidKey` says
/// that the key is gone.
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

    /// The device does not have the key, as after a restored backup, or Apple attests it no more.
    struct InvalidKey: Error {}

    /// A key in the device's Secure Enclave.
    private struct Key: Codable {
        var id: String
        /// The gateway may know the key, even if its answer was lost.
        var isAttested: Bool
    }

    /// Sends a request for a channel, with header fields.
    typealias Send = @Sendable (WireRequest, String, [(String, String)]) async throws -> (status: Int, body: Data)

    /// The gateway does not know the key for this channel.
    private static let unknownKey = 40305
    let service: any AppAttestService
    /// Where the id of the key is kept.
    let file: URL
    let send: Send

    func token(for channel: String) async throws -> String {
        if let data = try? Data(contentsOf: file), let key = try? JSONDecoder().decode(Key.self, from: data) {
            do { return try await token(for: channel, by: key) } catch is InvalidKey {}
        }
        let key = Key(id: try await service.generateKey(), isAttested: false)
        // While Apple's service is away, each attempt is about this key.
        keep(key)
        return try await token(for: channel, by: key)
    }

    private func token(for channel: String, by key: Key) async throws -> String {
        if key.isAttested {
            let challenge = try await challenge(channel)
            let proof = try await service.assertion(by: key.id, Self.clientData(challenge, channel))
            let (status, body) = try await exchange(key.id, channel, challenge, assertion: proof)
            if let token = Exchanged.token(status, body) { return token }
            let refusal = GatewayAnswer(body)
            guard refusal?.code == Self.unknownKey else { throw Self.failure(status, refusal) }
        }
        let challenge = try await challenge(channel)
        let proof = try await service.attestation(of: key.id, Self.clientData(challenge, channel))
        keep(Key(id: key.id, isAttested: true))
        let (status, body) = try await exchange(key.id, channel, challenge, attestation: proof)
        guard let token = Exchanged.token(status, body) else { throw Self.failure(status, GatewayAnswer(body)) }
        return token
    }

    /// Without the file the next launch attests another key.
    private func keep(_ key: Key) { try? JSONEncoder().encode(key).write(to: file, options: .atomic) }

    private func challenge(_ channel: String) async throws -> String {
        let (status, body) = try await send(.challenge, channel, [])
        guard status == 200, let answer = try? JSONDecoder().decode(Challenge.self, from: body) else {
            throw Self.failure(status, GatewayAnswer(body))
        }
        return answer.challenge
    }

    private func exchange(
        _ key: String, _ channel: String, _ challenge: String, attestation: Data? = nil, assertion: Data? = nil
    ) async throws -> (status: Int, body: Data) {
        let proof = AttestBody(
            channel: channel, key: key, challenge: challenge, attestation: attestation?.base64EncodedString(),
            assertion: assertion?.base64EncodedString())
        return try await send(WireRequest(proof), channel, [])
    }

    /// The text whose SHA-256 Apple signs.
    private static func clientData(_ challenge: String, _ channel: String) -> Data {
        Data("\(challenge):\(channel)".utf8)
    }

    private static func failure(_ status: Int, _ refusal: GatewayAnswer?) -> Failure {
        Failure(
            description: "the gateway gave no token by App Attest: \(status) \(refusal?.error ?? "without its words"). "
                + "Look at `attestation` of the app in the gateway's configuration")
    }
}

private struct Challenge: Decodable { var challenge: String }
