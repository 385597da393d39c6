import HTTPTypes
import LiveActivity
import Store
import StrictJSON

extension Handlers {
    func createChannel(_ call: Call) async throws(APIError) -> Answer {
        let channel = ChannelID.random()
        try await register(channel, call)
        var answer = Answer(
            201, ["ok": true, "operation_id": .string(call.operation), "channel_id": .string(channel.description)],
            type: Answer.airshipType)
        answer.fields.append((.location, "/api/channels/\(channel)"))
        return answer
    }

    /// Creates a channel that is not known here, because devices keep their ids when an app moves to another server.
    func updateChannel(_ call: Call) async throws(APIError) -> Answer {
        let channel = try call.channel()
        try await register(channel, call)
        return Answer(
            200, ["ok": true, "operation_id": .string(call.operation), "channel_id": .string(channel.description)],
            type: Answer.airshipType)
    }

    private func register(_ channel: ChannelID, _ call: Call) async throws(APIError) {
        let bytes = call.body.collect()
        let registration = try reading { () throws(JSONError) in try ChannelBody.registration(bytes) }
        try await storing { () throws(StoreError) in
            try await store.channels.register(
                call.app.key, channel, tags: registration.tags, namedUser: registration.namedUser,
                hasIOS18: registration.hasIOS18)
        }
    }

    /// Applies every entry that it can, in order. Each step can be repeated, so a 503 in the middle loses nothing.
    func channelBatch(_ call: Call) async throws(APIError) -> Answer {
        let channel = try call.channel()
        let bytes = call.body.collect()
        var batch = try reading { () throws(JSONError) in
            try BatchBody(bytes, channel: channel, catchesUp: call.app.catchesUp)
        }
        let app = call.app
        try await storing { () throws(StoreError) in
            if let tags = batch.tags {
                do throws(StoreError) {
                    try await store.channels.tag(app.key, [channel], tags)
                } catch .tooManyTags(_, let limit) {
                    batch.note(tooManyTags: limit)
                }
            }
            for update in batch.updates { try await apply(update, app, channel) }
        }
        guard let first = batch.problems.first else {
            return Answer(200, ["ok": true], type: Answer.airshipType)
        }
        let details = [
            JSON.Member("applied", .integer(batch.updates.count)),
            JSON.Member("problems", .array(batch.problems.map { .string($0.description) })),
            JSON.Member("problem_count", .integer(batch.problemCount)),
        ]
        // Return a 2xx: the SDK removes a batch from its queue only then, and
        // would repeat the bad entry in every later batch.
        if call.credential.isDevice {
            return Answer(
                200, .object([JSON.Member("ok", true)] + details),
                warnings: ["entries of the batch were not applied, see `problems`; the first: \(first.description)"],
                type: Answer.airshipType)
        }
        var error = APIError(first)
        error.extra = details
        throw error
    }

    private func apply(
        _ update: BatchBody.Update, _ served: GatewayApp, _ channel: ChannelID
    ) async throws(StoreError) {
        let app = served.key
        switch update {
        case .set(let name, let registration):
            let results = try await store.registry.track(app, name, [registration], endAfter: served.endAfter)
            metrics.registered(app, outcome: results.first == .stored ? "stored" : "stale")
        case .remove(let name, let removal):
            try await store.registry.untrack(app, name, [removal])
            metrics.registered(app, outcome: "removed")
        case .startToken(let type, let token, let at):
            let place = ActivityName(startTokensOf: type)
            if let token {
                let registration = Registration(channel: channel, token: token, registeredAt: at)
                let results = try await store.registry.track(app, place, [registration])
                metrics.registered(app, outcome: results.first == .stored ? "start_token" : "stale")
            } else {
                try await store.registry.untrack(app, place, [Removal(channel: channel, removedAt: at)])
                metrics.registered(app, outcome: "start_token_removed")
            }
        }
    }

    func tagChannels(_ call: Call) async throws(APIError) -> Answer {
        let bytes = call.body.collect()
        let request = try reading { () throws(JSONError) in try ChannelBody.tagRequest(bytes) }
        try await storing { () throws(StoreError) in
            try await store.channels.tag(call.app.key, request.channels, request.change)
        }
        return Answer(200, ["ok": true], warnings: request.warnings, type: Answer.airshipType)
    }

    func associate(_ call: Call) async throws(APIError) -> Answer {
        let bytes = call.body.collect()
        let request = try reading { () throws(JSONError) in try ChannelBody.namedUser(bytes, isRequired: true) }
        try await storing { () throws(StoreError) in
            if let user = request.namedUser {
                try await store.channels.associate(call.app.key, request.channel, namedUser: user)
            }
        }
        return Answer(200, ["ok": true], type: Answer.airshipType)
    }

    func disassociate(_ call: Call) async throws(APIError) -> Answer {
        let bytes = call.body.collect()
        let request = try reading { () throws(JSONError) in try ChannelBody.namedUser(bytes, isRequired: false) }
        try await storing { () throws(StoreError) in
            try await store.channels.disassociate(call.app.key, request.channel, namedUser: request.namedUser)
        }
        return Answer(200, ["ok": true], type: Answer.airshipType)
    }

    /// A token for the channel that the request was signed for. `expires_in` is
    /// in milliseconds, because the SDK reads it so.
    func deviceToken(_ call: Call) async throws(APIError) -> Answer {
        let channel = try call.actingChannel()
        return Answer(
            200,
            [
                "ok": true, "token": .string(call.tokens.token(for: channel, now: call.now)),
                "expires_in": .integer(DeviceTokens.lifetimeMilliseconds),
            ], type: Answer.airshipType)
    }
}
