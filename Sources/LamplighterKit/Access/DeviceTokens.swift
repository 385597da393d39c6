import Foundation

/// The app's backend gave no token for the channel, or its signature brought none.
struct NoToken: Error, CustomStringConvertible {
    var description: String

    /// - Parameter error: of the app's code that asks the backend.
    init(ofBackend error: any Error) {
        description =
            "your app's backend gave no token, and the gateway was not asked: \(error). "
            + "Look at the closure of Lamplighter(url:appKey:), and at the backend's call of /api/auth/device"
    }

    /// - Parameter isGateway: whether the answer is in the gateway's form.
    init(ofSignature status: Int, isGateway: Bool) {
        description =
            isGateway
            ? "the gateway answered \(status) to the signature of your app's backend. "
                + "Look at the backend's app key, app secret and clock"
            : "something before the gateway answered \(status) to the signature of your app's backend"
    }
}

/// The token of the channel. It is kept in memory alone, until shortly before its end.
actor DeviceTokens {

    private struct Held {
        var token: String
        var channel: String
        /// Seconds of `KitClock.uptime`, so that a step of the device's clock changes nothing. Nil: unknown.
        var end: Double?
    }

    /// A token that ends this soon is not used: the request takes a moment.
    private static let margin = 60.0
    private let clock: KitClock
    private let ask: @Sendable (String) async throws -> ChannelAccess
    private let exchange: @Sendable (ChannelSignature, String) async throws -> (status: Int, body: Data)
    private let attest: @Sendable (String) async throws -> String
    private var held: Held?
    /// The call to the backend that runs. Later callers wait for its answer.
    private var asking: (channel: String, task: Task<String, any Error>)?

    init(
        clock: KitClock, ask: @escaping @Sendable (String) async throws -> ChannelAccess,
        exchange: @escaping @Sendable (ChannelSignature, String) async throws -> (status: Int, body: Data),
        attest: @escaping @Sendable (String) async throws -> String
    ) {
        (self.clock, self.ask, self.exchange, self.attest) = (clock, ask, exchange, attest)
    }

    /// - Returns: the token, and whether it was fetched for this call.
    func token(for channel: String) async throws -> (String, isNew: Bool) {
        if let held, held.channel == channel, held.end.map({ clock.uptime() < $0 }) ?? true {
            return (held.token, false)
        }
        if let asking, asking.channel == channel { return (try await asking.task.value, true) }
        let task = Task { try await fetch(channel) }
        asking = (channel, task)
        // Meanwhile the app may have moved to another channel.
        defer { if asking?.task == task { asking = nil } }
        let token = try await task.value
        let end = Self.seconds(of: token).map { clock.uptime() + max(0, $0 - Self.margin) }
        held = Held(token: token, channel: channel, end: end)
        return (token, true)
    }

    /// The gateway did not take the token.
    func forget(_ token: String) {
        if held?.token == token { held = nil }
    }

    private func fetch(_ channel: String) async throws -> String {
        let access: ChannelAccess
        do { access = try await ask(channel) } catch { throw NoToken(ofBackend: error) }
        switch access.kind {
        case .token(let token): return token
        case .attestation: return try await attest(channel)
        case .signature(let signature):
            let (status, body) = try await exchange(signature, channel)
            guard let token = Exchanged.token(status, body) else {
                throw NoToken(ofSignature: status, isGateway: GatewayAnswer(body)?.code != nil)
            }
            return token
        }
    }

    /// How long a token lives, from its claims: the device's clock may be wrong.
    private static func seconds(of token: String) -> Double? {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        var text = parts[1].replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        while text.count % 4 != 0 { text += "=" }
        let claims = Data(base64Encoded: text).flatMap { try? JSONDecoder().decode(Claims.self, from: $0) }
        return claims.map { Double($0.exp - $0.iat) }
    }
}

struct Exchanged: Decodable {
    private var ok: Bool
    private var token: String

    /// The token in an answer of the gateway. Nil: the answer is a refusal, or not the gateway's.
    static func token(_ status: Int, _ body: Data) -> String? {
        guard status == 200, let answer = try? JSONDecoder().decode(Exchanged.self, from: body), answer.ok else {
            return nil
        }
        return answer.token
    }
}

private struct Claims: Decodable {
    var iat: Int
    var exp: Int
}
