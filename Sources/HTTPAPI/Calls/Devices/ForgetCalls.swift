import Answers
import LiveActivity
import Store

/// To forget a person: answers 202 once Redis knows what is to be forgotten. A worker does what this process leaves.
struct ForgetCalls: CallGroup {
    private let channels: Channels
    private let forgetting: Forgetting

    init(_ parts: GatewayParts) { (channels, forgetting) = (parts.store.channels, parts.store.forgetting) }

    func forgetChannels(_ call: Call) async throws -> Answer {
        let channels = try ChannelBody.uninstalls(call.body.collect())
        // A mistyped id removes nothing, and its caller believes that it does.
        let unknown = try await forgetting.unknown(call.app.key, channels).map(\.description)
        try await forget(channels, call)
        return Answer(202, ForgottenAnswer(unknown: unknown.isEmpty ? nil : unknown)).about(
            [.channel: channels.count == 1 ? channels[0].description : nil], count: channels.count)
    }

    /// Forgets the channels that the users have now.
    func forgetUsers(_ call: Call) async throws -> Answer {
        let users = try NamedUserBody.uninstalls(call.body.collect())
        var unknown: [String] = []
        for user in users {
            var isKnown = false
            try await channels.eachChannel(call.app.key, of: user) { channels throws(StoreError) in
                isKnown = true
                try await forget(channels, call)
            }
            if !isKnown { unknown.append(user) }
        }
        return Answer(202, ForgottenAnswer(unknown: unknown.isEmpty ? nil : unknown)).about(
            [.namedUser: users.count == 1 ? users[0] : nil], count: users.count)
    }

    private func forget(_ channels: [ChannelID], _ call: Call) async throws(StoreError) {
        let time = try await forgetting.note(call.app.key, channels)
        // After an error the request is as good as accepted: a worker goes on in a minute.
        do throws(StoreError) { try await forgetting.forget(call.app.key, channels, notedAt: time) } catch {}
    }
}
