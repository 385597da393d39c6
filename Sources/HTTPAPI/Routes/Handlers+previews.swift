import APNsWire
import LiveActivity
import Store
import StrictJSON

/// The answer to a dry run, push by push.
extension Handlers {
    /// Counting reads all tokens of a name. A dry run of names with millions of followers says what it has counted.
    private static let countingTime: Duration = .seconds(5)

    /// Without Redis only what the body itself says.
    /// - Parameter counts: whether to count the tokens, which reads all of them.
    func previews(_ pushes: [PublishBody.Push], counts: Bool, _ call: Call) async -> [JSON] {
        let deadline = ContinuousClock.now + Self.countingTime
        var previews: [JSON] = []
        for push in pushes { previews.append(await preview(push, until: counts ? deadline : nil, call)) }
        return previews
    }

    private func preview(
        _ push: PublishBody.Push, until deadline: ContinuousClock.Instant?, _ call: Call
    ) async -> JSON {
        let publish = push.publish
        let isStart = publish.event == .start
        var preview: JSON = ["name": .string(publish.name.rawValue), "event": .string(publish.event.rawValue)]
        var hasTokens = true
        if let deadline, let reach = try? await store.reach(call.app.key, publish, until: deadline) {
            hasTokens = reach.tokens > 0 || !reach.isComplete
            preview.append(isStart ? "start_tokens" : "tokens", .integer(reach.tokens))
            if !reach.isComplete { preview.append("complete", false) }
        }
        var isForBroadcastAlone = push.oversize != nil
        if let channels = try? await broadcastChannels(publish, call) {
            if channels > 0, !hasTokens { isForBroadcastAlone = true }
            preview.append("broadcast_channels", .integer(channels))
        }
        let timestamp = publish.timestamp ?? Int(call.now / 1_000)
        preview.append("payload_bytes", .integer(push.payload.count))
        preview.append(
            "payload_limit", .integer(isForBroadcastAlone ? Payload.maximumBroadcastBytes : Payload.maximumBytes))
        preview.append("payload", .raw(Payload.stamped(push.payload, timestamp)))
        return preview
    }

    /// 1 if the push also goes to the name's broadcast channel.
    private func broadcastChannels(_ publish: Publish, _ call: Call) async throws -> Int {
        guard publish.event != .start, publish.audience == .all else { return 0 }
        guard let channel = try await store.broadcasts.channel(call.app.key, publish.name) else { return 0 }
        return channel.state == .deleting ? 0 : 1
    }
}
