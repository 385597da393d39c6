import LiveActivity
import Store
import StrictJSON

/// Push-to-start tokens. They belong to an attributes type on a channel, not to
/// an activity. The SDK reports them in its batch.
extension Handlers {
    func startTokens(_ call: Call) async throws(APIError) -> Answer {
        let place = try call.startTokens()
        let type = place.startTokensType ?? ""
        let before = call.now - configuration.startTokensStaleAfter.milliseconds
        let found = try await storing { () throws(StoreError) in
            try await store.registry.startTokens(call.app.key, type, reportedBefore: before)
        }
        return Answer(
            200,
            [
                "attributes_type": .string(type), "tokens": .integer(found.tokens), "stale": .integer(found.stale),
                "shards": .integer(found.buckets),
            ])
    }

    func setStartToken(_ call: Call) async throws(APIError) -> Answer {
        let place = try call.startTokens()
        let channel = try call.channel()
        let bytes = call.body.collect()
        let registration = try reading { () throws(JSONError) in
            try TrackBody.single(bytes, channel: channel, isStart: true, now: call.now)
        }
        return try await register(registration, in: place, call)
    }

    func removeStartToken(_ call: Call) async throws(APIError) -> Answer {
        try await unregister(from: call.startTokens(), call)
    }

    func bulkStartTokens(_ call: Call) async throws(APIError) -> Answer {
        try await bulkTrack(call, place: call.startTokens())
    }
}
