import Answers
import LiveActivity
import Store
import StrictJSON

/// All channels that follow a name, or have a start token of an attributes type.
struct FollowerCalls: CallGroup {
    /// For how long one request removes channels.
    private static let patience: Duration = .seconds(10)
    private static let tokensAtOnce = 2_000

    private let tokens: Tokens
    private let registrations: RegistrationCalls
    private let staleAfter: Duration

    init(_ parts: GatewayParts) {
        tokens = parts.store.tokens
        registrations = RegistrationCalls(parts)
        staleAfter = parts.configuration.startTokensStaleAfter
    }

    /// Whole tokens, in the form that the bulk call reads: a copy that can be registered again.
    func list(_ call: Call) async throws -> Answer {
        let limit = try call.number("limit", "a whole number", in: 1...10_000, default: 1_000)
        let start = try call.number("after", "the `next` of an earlier page", in: 0...Int(UInt32.max), default: 0)
        let (page, next) = try await tokens.page(
            call.app.key, call.place(), from: ScanPosition(UInt64(start)), to: .end, limit: limit)
        // With the addresses that are kept with the channels.
        let (addressed, unreachable) = try await tokens.addressed(call.app.key, page)
        let lines = (0..<page.count).compactMap { addressed.line($0, hasAddress: unreachable[$0] != .noAddress) }
        return Answer(200, FollowersAnswer(channels: lines, next: next < .end ? "\(next.rawValue)" : nil))
    }

    /// Removes the channels that follow now. A registration from before this request does not come back.
    func remove(_ call: Call) async throws -> Answer {
        let place = try call.place()
        let end = ContinuousClock.now + Self.patience
        var position = ScanPosition.start
        var removed = 0
        while position < .end, ContinuousClock.now < end {
            let (page, next) = try await tokens.page(
                call.app.key, place, from: position, to: .end, limit: Self.tokensAtOnce)
            let channels = (0..<page.count).compactMap { ChannelID(stored: Array(page.channel($0))) }
            try await registrations.unregister(
                channels.map { Untrack(channel: $0, removedAt: call.now) }, from: place, call.app)
            removed += channels.count
            position = next
        }
        return Answer(200, RemovedAnswer(removed: removed, complete: position >= .end)).about([:], count: removed)
    }

    /// Push-to-start tokens belong to an attributes type on a channel, not to an activity.
    func countStartTokens(_ call: Call) async throws -> Answer {
        let type = try call.attributesType()
        let before = call.now - staleAfter.milliseconds
        let found = try await tokens.startTokens(call.app.key, type, reportedBefore: before)
        return Answer(
            200,
            StartTokensAnswer(attributesType: type, tokens: found.tokens, stale: found.stale, shards: found.buckets))
    }
}

extension TokenPage {
    /// One line of the bulk call. Nil for a channel that no version writes.
    fileprivate func line(_ index: Int, hasAddress: Bool) -> RawJSON? {
        guard let channel = ChannelID(stored: Array(channel(index))) else { return nil }
        let entry = entries[index]
        let address = hasAddress ? entry.platform.body.text(token(index)) : nil
        func text(_ field: String) -> String? { address?.field == field ? address?.text : nil }
        let follower = FollowerAnswer(
            channel: channel.description, platform: entry.platform == .ios ? nil : entry.platform.name,
            token: text("token"), fid: text("fid"), registeredAt: Int(entry.registeredAt),
            startedAt: entry.minutes == 0 || entry.platform.hasOneAddress ? nil : Int(entry.startedAt),
            frequentPushesEnabled: entry.isInfrequent ? false : nil)
        return RawJSON(checked: follower.answerJSON.bytes)
    }
}
