import Redis

/// The scripts of `Lua/`, embedded at build time, each with the number of its keys. Fragments (`shared-*`) are put before
/// the scripts that use them.
enum Lua {
    static let registrySet = ofRegistry(
        "registry-set", keys: 10, line + late + ended + PackageResources.registry_set_lua)
    static let registryRemove = ofRegistry("registry-remove", keys: 3, PackageResources.registry_remove_lua)
    static let registryPrune = ofRegistry("registry-prune", keys: 3, PackageResources.registry_prune_lua)
    static let registrySplit = script("registry-split", keys: 4, PackageResources.registry_split_lua)
    static let registryAlive = script("registry-alive", keys: 2, PackageResources.registry_alive_lua)
    static let registryFollowed = script("registry-followed", keys: 5, PackageResources.registry_followed_lua)
    static let channelMark = script("channel-mark", keys: 1, PackageResources.channel_mark_lua)
    static let channelConfirm = script("channel-confirm", keys: 1, PackageResources.channel_confirm_lua)
    static let pushAccept = sharing("push-accept", keys: 4, replacing + PackageResources.push_accept_lua)
    static let pushBegin = sharing("push-begin", keys: 10, PackageResources.push_begin_lua)
    static let pushCancel = sharing("push-cancel", keys: 3, PackageResources.push_cancel_lua)
    static let taskClaim = sharing("task-claim", keys: 5, PackageResources.task_claim_lua)
    static let taskPlanned = script("task-planned", keys: 1, PackageResources.task_planned_lua)
    static let taskRenew = script("task-renew", keys: 1, PackageResources.task_renew_lua)
    static let taskSettle = sharing("task-settle", keys: 8, replacing + PackageResources.task_settle_lua)
    static let retryClaim = sharing("retry-claim", keys: 3, PackageResources.retry_claim_lua)
    static let retrySettle = sharing("retry-settle", keys: 4, PackageResources.retry_settle_lua)
    static let latePut = sharing("late-put", keys: 4, late + replacing + PackageResources.late_put_lua)
    static let owedStrike = sharing("owed-strike", keys: 5, PackageResources.owed_strike_lua)
    static let queueDue = script("queue-due", keys: 2, PackageResources.queue_due_lua)
    static let deadRetry = sharing("dead-retry", keys: 8, PackageResources.dead_retry_lua)
    static let deadCollect = sharing("dead-collect", keys: 4, PackageResources.dead_collect_lua)
    static let guardCount = script("guard-count", keys: 1, PackageResources.guard_count_lua)
    static let quarantineForget = script("quarantine-forget", keys: 1, PackageResources.quarantine_forget_lua)
    static let alarmRaise = script("alarm-raise", keys: 1, PackageResources.alarm_raise_lua)
    static let broadcastWant = script("broadcast-want", keys: 1, PackageResources.broadcast_want_lua)
    static let broadcastLive = script("broadcast-live", keys: 1, PackageResources.broadcast_live_lua)
    static let broadcastDiscard = script("broadcast-discard", keys: 2, PackageResources.broadcast_discard_lua)
    static let broadcastRetire = script("broadcast-retire", keys: 1, PackageResources.broadcast_retire_lua)
    static let broadcastGone = script("broadcast-gone", keys: 1, PackageResources.broadcast_gone_lua)
    static let broadcastFail = script("broadcast-fail", keys: 1, PackageResources.broadcast_fail_lua)
    static let broadcastLease = script("broadcast-lease", keys: 1, PackageResources.broadcast_lease_lua)
    static let broadcastIntend = script("broadcast-intend", keys: 2, PackageResources.broadcast_intend_lua)
    static let broadcastTake = sharing("broadcast-take", keys: 3, replacing + PackageResources.broadcast_take_lua)
    static let broadcastSettle = sharing("broadcast-settle", keys: 3, PackageResources.broadcast_settle_lua)
    static let broadcastForeign = script("broadcast-foreign", keys: 2, PackageResources.broadcast_foreign_lua)
    static let queueLook = script("queue-look", keys: 1, PackageResources.queue_look_lua)
    static let queueForget = script("queue-forget", keys: 1, PackageResources.queue_forget_lua)
    static let scheduleCreate = script("schedule-create", keys: 1, PackageResources.schedule_create_lua)
    static let scheduleQueue = script("schedule-queue", keys: 1, PackageResources.schedule_queue_lua)
    static let scheduleDue = script("schedule-due", keys: 1, PackageResources.schedule_due_lua)
    static let scheduleTake = script("schedule-take", keys: 1, PackageResources.schedule_take_lua)
    static let scheduleReplace = script("schedule-replace", keys: 1, PackageResources.schedule_replace_lua)
    static let scheduleSettle = script("schedule-settle", keys: 1, PackageResources.schedule_settle_lua)
    static let endTake = script("end-take", keys: 2, PackageResources.end_take_lua)
    static let providerToken = script("provider-token", keys: 1, PackageResources.provider_token_lua)
    static let schemaSet = script("schema-set", keys: 1, PackageResources.schema_set_lua)

    static let all: [RedisScript] = [
        registrySet,
        registryRemove,
        registryPrune,
        registrySplit,
        registryAlive,
        registryFollowed,
        channelMark,
        channelConfirm,
        pushAccept,
        pushBegin,
        pushCancel,
        taskClaim,
        taskPlanned,
        taskRenew,
        taskSettle,
        retryClaim,
        retrySettle,
        latePut,
        owedStrike,
        queueDue,
        queueForget,
        queueLook,
        deadRetry,
        deadCollect,
        guardCount,
        quarantineForget,
        alarmRaise,
        scheduleCreate,
        scheduleQueue,
        scheduleDue,
        scheduleTake,
        scheduleReplace,
        scheduleSettle,
        endTake,
        broadcastWant,
        broadcastLive,
        broadcastDiscard,
        broadcastRetire,
        broadcastGone,
        broadcastFail,
        broadcastLease,
        broadcastIntend,
        broadcastForeign,
        broadcastTake,
        broadcastSettle,
        providerToken,
        schemaSet,
    ]

    private static let line = PackageResources.shared_line_lua
    private static let late = PackageResources.shared_late_lua
    private static let ended = PackageResources.shared_ended_lua
    private static let replacing = PackageResources.shared_replacing_lua

    private static func script(_ name: String, keys: Int, _ source: [UInt8]) -> RedisScript {
        RedisScript(name: name, source: String(decoding: source, as: UTF8.self), keyCount: keys)
    }

    // Redis has no function libraries before version 7, so each script contains its fragments.

    private static func sharing(_ name: String, keys: Int, _ source: [UInt8]) -> RedisScript {
        script(name, keys: keys, ended + line + PackageResources.shared_endings_lua + source)
    }

    private static func ofRegistry(_ name: String, keys: Int, _ source: [UInt8]) -> RedisScript {
        script(name, keys: keys, PackageResources.shared_registry_lua + source)
    }
}
