import StoreGround

extension Alarm.Kind {
    public static let all: [Alarm.Kind] = ofCore + ofFeatures

    private static let ofCore: [Alarm.Kind] = [
        credentials, unreachable, pruneGuard, manyUnregistered, otherEnvironment, broadcast, expired, newerFormat,
        clock, redisRights, conflict,
    ]

    /// APNs refuses the app's provider token.
    public static let credentials = Alarm.Kind(
        "credentials", title: "Credentials",
        log: "APNs refuses this app's credentials: its sends are halted and kept; check team_id, key_id, key_file and "
            + "clocks",
        meaning: "Apple refuses the app's key. Nothing is sent until team, key id, key and environment fit.",
        ends: "It ends with the first delivery.", runbook: "LamplighterCredentialsRefused")

    /// APNs does not answer.
    public static let unreachable = Alarm.Kind(
        "unreachable", title: "APNs is unreachable",
        log: "APNs cannot be reached: this app's sends wait; check the network, apns.url and ca_file",
        meaning: "Apple is not reached, or takes no requests. Look at the firewall, DNS and Apple's status page.",
        ends: "It ends with the first delivery.", runbook: "LamplighterAPNsUnreachable")

    /// Too many tokens were called dead by a 400, so they are quarantined instead of pruned.
    public static let pruneGuard = Alarm.Kind(
        "prune_guard", title: "Prune guard",
        log: "APNs calls unusually many tokens wrong: they are quarantined, not pruned; check bundle_id, "
            + "apns.environment and the key, then 'lamplighter quarantine'",
        meaning: "Apple calls most tokens wrong, so they are kept and get nothing. A key, a topic, an environment or "
            + "an import changed.",
        ends: "It ends when no token is in quarantine.", runbook: "LamplighterPruneGuard",
        page: ("/console/quarantine", "Decide in Quarantine"),
        life: .milliseconds(RegistryRecord.Lifetime.activity.retention))

    /// Unusually many tokens were called dead by a 410. They are pruned.
    public static let manyUnregistered = Alarm.Kind(
        "many_unregistered", title: "Many unregistered tokens",
        log: "APNs calls unusually many tokens dead: they are pruned",
        meaning: "Unusually many cards are gone. It is right if users deleted the app or an old list was imported.",
        ends: "It ends 15 minutes after the last one.", page: ("/console/pushes", "Pushes"))

    /// The second APNs environment of an app refuses what the first one takes.
    public static let otherEnvironment = Alarm.Kind(
        "other_environment", title: "Other environment",
        log: "the app's other APNs environment refuses what the first takes: tokens that live there wait; check the "
            + "key",
        meaning: "The sandbox refuses the key, or is not reached.", ends: "It ends with the first delivery there.")

    /// APNs makes or deletes no broadcast channels for the app.
    public static let broadcast = Alarm.Kind(
        "broadcast", title: "Broadcast channels",
        log: "APNs makes or deletes no broadcast channels for this app",
        meaning: "Apple refuses broadcast channels, or broadcasts.", ends: "It ends with the first that it takes.",
        page: ("/console/broadcasts", "Broadcast channels"))

    /// Pushes expired before they were sent to all of their targets, or before their broadcast channel was made.
    public static let expired = Alarm.Kind(
        "expired", title: "Expired pushes",
        log: "accepted pushes expired before they were sent: publish the present states again",
        meaning: "Accepted pushes were not sent in time. Publish the present states, then drop the dead letters.",
        ends: "It ends with the last dead letter, or 15 minutes after the last push that expired.",
        runbook: "LamplighterExpired", page: ("/console/dead", "Decide in Dead letters"))

    /// A process ended because a newer version has changed the format of what is stored.
    public static let newerFormat = Alarm.Kind(
        "newer_format", title: "Newer format",
        log: "a newer version has changed what is stored: this version stops; install the newer one",
        meaning: "A newer version changed what Redis holds. Install that version here too.",
        ends: "It ends 15 minutes after the last process that stopped.")

    /// The clock of a machine and Redis's differ.
    public static let clock = Alarm.Kind(
        "clock", title: "Clocks differ",
        log: "a machine's clock and Redis's differ: run a time service on all machines",
        meaning: "The clock of a machine and that of Redis differ. Run a time service on it.",
        ends: "It ends once they agree.")

    /// The user in `redis.url` lacks a right.
    public static let redisRights = Alarm.Kind(
        "redis_rights", title: "Rights in Redis",
        log: "Redis refuses commands, because the user in redis.url lacks a right",
        meaning: "Redis refuses commands, because its user lacks a right.",
        ends: "It ends 15 minutes after the last refusal.")

    /// The condition of a schedule did not hold at its time.
    public static let conflict = Alarm.Kind(
        "conflict", title: "Schedules that were not sent",
        log: "a schedule was not sent, because another push of its name came first",
        meaning: "A schedule was for another state than the cards show. It was not sent. Publish the present state.",
        ends: "It ends 15 minutes after the last one.", page: ("/console/schedules?state=finished", "Schedules"))
}
