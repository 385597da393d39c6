import Answers
import LiveActivity
import Store
import StrictJSON

/// `POST /api/push/validate`: the checks of a publish, and whom each push would reach. Nothing is written.
struct DryRunCalls: CallGroup {
    /// Counting reads all tokens of a name. A dry run of names with millions of followers says what it has counted.
    private static let countingTime: Duration = .seconds(5)

    private let store: Store
    private let steps: PublishSteps
    private let hints: NameHints
    private let conditions: PublishConditions
    private let parts: GatewayParts

    init(_ parts: GatewayParts) {
        (store, self.parts) = (parts.store, parts)
        (steps, hints) = (PublishSteps(parts), NameHints(parts))
        conditions = PublishConditions(parts)
    }

    func validate(_ call: Call) async throws -> Answer {
        let pushes = try call.pushes()
        async let unfollowed = hints.unfollowed(pushes, call)
        let warnings =
            try await pushes.flatMap(\.warnings) + checkSchemas(pushes, call) + steps.checkSizes(pushes, call)
            + closed(pushes, call) + [conditions.warning(pushes, call)].compactMap(\.self)
        let held = parts.gate(pushes, call)?.word
        let previews = try await self.previews(pushes, held: held, counts: call.flag("reach") ?? true, call)
        let hints = await hints.hints(unfollowed, call)
        return Answer(200, DryRunAnswer(pushes: previews), warnings: warnings, hints: hints)
    }

    /// A dry run also works without Redis.
    private func checkSchemas(_ pushes: [PublishBody.Push], _ call: Call) async throws -> [String] {
        do {
            return try await steps.checkSchemas(pushes, call)
        } catch {
            guard APIError(thrown: error).status == 503 else { throw error }
            return ["schemas were not checked: Redis is not reachable"]
        }
    }

    /// Updates of names that an end closed. No refusal, because the caller may mean a later time, behind a start.
    private func closed(_ pushes: [PublishBody.Push], _ call: Call) async -> [String] {
        let started = Set(pushes.filter { $0.publish.event == .start }.map(\.publish.name))
        var names: [ActivityName] = []
        for push in pushes where push.publish.event == .update {
            let name = push.publish.name
            guard !started.contains(name), !names.contains(name) else { continue }
            if (try? await store.names.info(call.app.key, name))?.ended == true { names.append(name) }
        }
        return names.map { name in
            "\(JSON.string(name.rawValue).text) is closed by an end: an update is refused until a start or a new card opens it"
        }
    }

    /// Without Redis only what the body itself says.
    /// - Parameter counts: whether to count the tokens, which reads all of them.
    private func previews(
        _ pushes: [PublishBody.Push], held: String?, counts: Bool, _ call: Call
    ) async -> [PreviewAnswer] {
        let deadline = ContinuousClock.now + Self.countingTime
        var previews: [PreviewAnswer] = []
        for push in pushes {
            previews.append(await preview(push, held: held, until: counts ? deadline : nil, call))
        }
        return previews
    }

    private func preview(
        _ push: PublishBody.Push, held: String?, until deadline: ContinuousClock.Instant?, _ call: Call
    ) async -> PreviewAnswer {
        let publish = push.publish
        let isStart = publish.event == .start
        let reach: Reach? =
            if let deadline { try? await store.reach(call.app.key, publish, until: deadline) } else { nil }
        let channels = try? await broadcastChannels(publish, call)
        let hasTokens = reach.map { $0.tokens > 0 || !$0.isComplete } ?? true
        let isForBroadcastAlone = push.oversize != nil || (channels ?? 0) > 0 && !hasTokens
        var completed = push
        completed.publish = call.completed(publish)
        let parts = publish.platforms.map { platform in
            platform.body.preview(
                completed, tokens: reach.map { $0.byPlatform[platform] ?? 0 },
                isForBroadcastAlone: isForBroadcastAlone, now: call.now)
        }
        let byPlatform = Dictionary(uniqueKeysWithValues: zip(publish.platforms, parts))
        return PreviewAnswer(
            name: publish.name.rawValue, event: publish.event.rawValue, tokens: isStart ? nil : reach?.tokens,
            startTokens: isStart ? reach?.tokens : nil, complete: reach?.isComplete == false ? false : nil,
            broadcastChannels: channels, payloadBytes: parts[0].payloadBytes, payloadLimit: parts[0].payloadLimit,
            payload: parts[0].payload,
            platforms: publish.platforms == [.ios] ? nil : PlatformPreviewsAnswer(byPlatform), held: held)
    }

    /// 1 if the push also goes to the name's broadcast channel.
    private func broadcastChannels(_ publish: Publish, _ call: Call) async throws -> Int {
        guard publish.isForBroadcast else { return 0 }
        return try await store.broadcasts.takesPushes(call.app.key, publish.name) ? 1 : 0
    }
}
