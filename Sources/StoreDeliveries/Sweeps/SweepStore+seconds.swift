public import LiveActivity
import Redis
public import StoreGround

/// The seconds by which some platforms' devices order the states of a name.
extension SweepStore {
    /// How far ahead of the clock pushes run that no newer one may supersede, before they wait.
    private static let mostAhead = 60
    /// As long as a card may live.
    private static let life: Duration = .seconds(13 * 3_600)

    /// Gives a begun push its second. Repeatable: a push keeps its second.
    /// - Returns: the second (epoch), or how long the push has to wait for it
    public func second(
        _ app: AppKey, _ name: ActivityName, of push: PushRecord
    ) async throws(StoreError) -> (second: Int?, wait: Duration) {
        let reply = try await redis.run(
            Lua.pushSecond, keys: ["s": keys.seconds(keys.tag(app, name))],
            [
                "id": .bytes(push.id.uuid.bytes), "timestamp": .int(push.timestamp),
                "ahead": .int(push.isSupersedable ? 0 : Self.mostAhead), "life": .int(Self.life.milliseconds),
            ])
        let (second, left) = try reply.values(.integer("second"), .integer("time left"))
        return (left == 0 ? second : nil, .milliseconds(left))
    }

    /// The second that a push got. Nil: it is not remembered.
    public func knownSecond(
        _ app: AppKey, _ name: ActivityName, of push: PushID
    ) async throws(StoreError) -> Int? {
        let key = keys.seconds(keys.tag(app, name))
        return try await redis.run("ZSCORE", key, .bytes(push.uuid.bytes)).optionalNumber()
    }
}
