import LiveActivity
import Store
import StrictJSON

/// To forget a person: answers 202 once Redis knows what is to be forgotten. A worker does what this process leaves.
extension Handlers {
    func uninstallChannels(_ call: Call) async throws -> Answer {
        try await forget(ChannelBody.uninstalls(call.body.collect()), call)
        return Answer(202, ["ok": true])
    }

    /// Forgets the channels that the users have now.
    func uninstallUsers(_ call: Call) async throws -> Answer {
        for user in try NamedUserBody.uninstalls(call.body.collect()) {
            try await store.channels.eachChannel(call.app.key, of: user) { channels throws(StoreError) in
                try await forget(channels, call)
            }
        }
        return Answer(202, ["ok": true])
    }

    private func forget(_ channels: [ChannelID], _ call: Call) async throws(StoreError) {
        let time = try await store.forgetting.note(call.app.key, channels)
        // After an error the request is as good as accepted: a worker goes on in a minute.
        do throws(StoreError) { try await store.forgetting.forget(call.app.key, channels, notedAt: time) } catch {}
    }
}
