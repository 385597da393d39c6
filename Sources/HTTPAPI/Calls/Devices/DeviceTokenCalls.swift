import Answers

/// Tokens with which devices make their calls.
struct DeviceTokenCalls: CallGroup {
    init(_ parts: GatewayParts) {}

    /// A token for the channel that the request was signed for. The SDK reads `expires_in` as milliseconds. An app that
    /// only reports asks for less than the SDK, with `only=reports`.
    func issue(_ call: Call) async throws -> Answer {
        let channel = try call.actingChannel()
        let only = call.query["only"]
        guard only == nil || only == "reports" else { throw APIError.parameter("only", "must be reports") }
        let token = call.tokens.token(for: channel, isForReports: only != nil, now: call.now)
        return Answer(200, DeviceTokenAnswer(token: token, expiresIn: Int(SDKTokens.lifetimeMilliseconds)))
    }
}
