public import LiveActivity
import Redis
public import StoreGround

/// The seconds by which some platforms' devices order the states of a name.
extension SweepStore {
    /// How far ahead of the clock pushes run that no newer one may supersede, before they wait.
    private static let mostAhead = 60
    /// As long as a card may live.
    private static let life: Duration = .seconds(13 * 3_600)

    /// Gives a begun push its second, and the type of the name's cards. Repeatable: a push keeps its second.
    /// - Returns: how long the push has to wait for its second
    public func giveSecond(
        _ app: AppKey, _ name: ActivityName, to push: inout PushRecord
    ) async throws(StoreError) -> Duration {
        let tag = keys.tag(app, name)
        let reply = try await redis.run(
            Lua.pushSecond, keys: ["s": keys.seconds(tag), "n": keys.name(tag)],
            [
                "id": .bytes(push.id.uuid.bytes), "timestamp": .int(push.timestamp),
                "ahead": .int(push.isSupersedable ? 0 : Self.mostAhead), "life": .int(Self.life.milliseconds),
                "card": .string(push.contents.values.compactMap(\.type).first ?? ""),
            ])
        let (second, left, card) = try reply.values(
            .integer("second"), .integer("time left"), .string("type of the card"))
        push.second = left == 0 ? second : nil
        push.cardType = card.isEmpty ? nil : card
        return .milliseconds(left)
    }

    /// Gives a push the second that it got, and the type of the name's cards.
    public func recallSecond(
        _ app: AppKey, _ name: ActivityName, of push: inout PushRecord
    ) async throws(StoreError) {
        let tag = keys.tag(app, name)
        let (second, card) = try await redis.run([
            RedisCommand("ZSCORE", keys.seconds(tag), .bytes(push.id.uuid.bytes)),
            RedisCommand("HGET", keys.name(tag), "card"),
        ]).values(.any("second"), .optionalString("type of the card"))
        push.second = try second.optionalNumber()
        push.cardType = card
    }
}
