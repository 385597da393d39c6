import Foundation

/// The token of the channel. It is kept in memory alone, until shortly before its end.
actor DeviceTokens {
    struct Refused: Error, CustomStringConvertible {
        var status: Int
        var description: String { "the gateway gave no token for the signature: \(status)" }
    }

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
    private var held: Held?

    init(
        clock: KitClock, ask: @escaping @Sendable (String) async throws -> ChannelAccess,
        exchange: @escaping @Sendable (ChannelSignature, String) async throws -> (status: Int, body: Data)
    ) {
        (self.clock, self.ask, self.exchange) = (clock, ask, exchange)
    }

    /// - Returns: the token, and whether it was fetched for this call.
    func token(for channel: String) async throws -> (String, isNew: Bool) {
        if let held, held.channel == channel, held.end.map({ clock.uptime() < $0 }) ?? true {
            return (held.token, false)
        }
        let token = try await fetch(channel)
        let end = Self.seconds(of: token).map { clock.uptime() + max(0, $0 - Self.margin) }
        held = Held(token: token, channel: channel, end: end)
        return (token, true)
    }

    /// The gateway did not take the token.
    func forget(_ token: String) {
        if held?.token == token { held = nil }
    }

    private func fetch(_ channel: String) async throws -> String {
        switch try await ask(channel).kind {
        case .token(let token): return token
        case .signature(let signature):
            let (status, body) = try await exchange(signature, channel)
            guard status == 200 else { throw Refused(status: status) }
            return try JSONDecoder().decode(Exchanged.self, from: body).token
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

private struct Exchanged: Decodable { var token: String }

private struct Claims: Decodable {
    var iat: Int
    var exp: Int
}
