import Answers
import LiveActivity
import Store

/// Tokens that devices register, and remove. Other calls register through it, too.
struct RegistrationCalls: CallGroup {
    private let registry: Registry
    private let metrics: GatewayMetrics
    private let parts: GatewayParts

    init(_ parts: GatewayParts) {
        (registry, metrics, self.parts) = (parts.store.registry, parts.metrics, parts)
    }

    func track(_ call: Call) async throws -> Answer {
        let place = try call.place()
        let tracked = try TrackBody.read(
            call.body.collect(), channel: call.channel(), isStart: place.isForStartTokens, now: call.now,
            catchesUp: call.app.catchesUp, platforms: call.app.platforms)
        guard try await AddressBook(parts).note([tracked], call.app).isEmpty else {
            throw APIError.parameter("token", TrackBody.noAddress)
        }
        let result = try await register(tracked.registration, in: place, call.app)
        return Answer(200, RegisteredAnswer(result: result == .stored ? "stored" : "stale"))
    }

    func untrack(_ call: Call) async throws -> Answer {
        try await unregister([Untrack(channel: call.channel(), removedAt: call.now)], from: call.place(), call.app)
        return .empty
    }

    /// The most registrations that are best stored in one call.
    func batchSize(of place: TokenPlace) -> Int { registry.batchSize(of: place) }

    /// - Parameter announced: see `Registry.track`
    func register(
        _ registrations: [Registration], in place: TokenPlace, _ app: GatewayApp, announced: Int = 0
    ) async throws -> [RegistrationResult] {
        guard !registrations.isEmpty else { return [] }
        let results = try await registry.track(
            app.key, place, registrations, endAfter: app.endAfter, announced: announced)
        note(results, in: place, app)
        return results
    }

    /// Stores the registration of a device, together with other registrations of the name that come at the same time.
    func register(
        _ registration: Registration, in place: TokenPlace, _ app: GatewayApp
    ) async throws -> RegistrationResult {
        let result = try await registry.track(app.key, place, registration, endAfter: app.endAfter)
        note([result], in: place, app)
        return result
    }

    /// Lets a name's newest state go to a channel of a platform with one address, whose device may have missed it.
    /// - Parameter isMoved: the channel's address is another one; it gets the state only if it follows the name
    func repeatState(
        of name: ActivityName, to channel: ChannelID, as token: PushToken, isMoved: Bool = false, _ app: GatewayApp
    ) async throws {
        var registration = Registration(
            channel: channel, token: token, registeredAt: parts.store.time.now(), wantsState: true)
        registration.isMoved = isMoved
        _ = try await register(registration, in: .activity(name), app)
    }

    private func note(_ results: [RegistrationResult], in place: TokenPlace, _ app: GatewayApp) {
        let stored = results.count { $0 == .stored }
        metrics.registered(app.key, outcome: place.isForStartTokens ? "start_token" : "stored", count: stored)
        metrics.registered(app.key, outcome: "stale", count: results.count - stored)
    }

    func unregister(_ untracks: [Untrack], from place: TokenPlace, _ app: GatewayApp) async throws {
        try await registry.untrack(app.key, place, untracks)
        metrics.registered(
            app.key, outcome: place.isForStartTokens ? "start_token_removed" : "removed", count: untracks.count)
    }
}
