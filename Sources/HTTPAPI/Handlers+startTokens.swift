import LiveActivity
import Store
import StrictJSON

/// Push-to-start tokens: of an attributes type on a channel, not of an activity. The SDK reports them in its batch.
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
        let bytes = try await call.body.collect()
        let registration = try reading { () throws(JSONError) in
            try TrackBody.single(bytes, channel: channel, isStart: true, now: call.now)
        }
        let results = try await storing { () throws(StoreError) in
            try await store.registry.track(call.app.key, place, [registration])
        }
        let isStored = results.first == .stored
        metrics.registered(call.app.key, outcome: isStored ? "start_token" : "stale")
        return Answer(200, ["ok": true, "result": .string(isStored ? "stored" : "stale")])
    }

    func removeStartToken(_ call: Call) async throws(APIError) -> Answer {
        let place = try call.startTokens()
        let removal = Removal(channel: try call.channel(), removedAt: call.now)
        try await storing { () throws(StoreError) in
            try await store.registry.untrack(call.app.key, place, [removal])
        }
        metrics.registered(call.app.key, outcome: "start_token_removed")
        return .empty
    }
}
