import LiveActivity
import Redis

extension Store {
    /// A reader of intakes, with a connection of its own for each call of this.
    public func intake() -> Intake { Intake(connection: redis.blockingConnection(), redis: redis, keys: keys) }
}

extension AppCredential {
    /// The caller that logs name for the intake's entries. Redis does not tell who wrote an entry.
    public static let intakeID = "intake"
}

/// How far the gateways are behind the writers of an app's intake. The intakes that no gateway reads are counted too:
/// their writers wait for nothing.
extension FleetCount {
    public static let intakeWaiting = FleetCount(
        "lamplighter_fleet_intake_waiting", "entries of the intake without an answer, also if no gateway reads it"
    ) { store, apps, _ throws(StoreError) in
        let counts = try await store.redis.run(apps.map { RedisCommand("XLEN", store.keys.intake($0)) })
        return try counts.map { (count) throws(StoreError) in Double(try count.integer()) }
    }

    public static let intakeOldest = FleetCount(
        "lamplighter_fleet_intake_oldest_seconds", "age of the oldest entry of the intake without an answer, by its id"
    ) { store, apps, now throws(StoreError) in
        let questions = apps.map { RedisCommand("XRANGE", store.keys.intake($0), "-", "+", "COUNT", "1") }
        let entries = try await store.redis.run(questions)
        return try entries.map { (entry) throws(StoreError) in Double(try WorkQueue.age(entry, now)) / 1_000 }
    }
}
