import Redis

/// The scripts of `Lua/`, embedded at build time. The number in a file's name is the number of its keys. Fragments
/// (`shared-*`) are put before the scripts that use them.
enum Lua {
    static let registrySet = ofRegistry("registry-set-10", late + ended + PackageResources.registry_set_10_lua)
    static let registryRemove = ofRegistry("registry-remove-3", PackageResources.registry_remove_3_lua)
    static let registryPrune = ofRegistry("registry-prune-3", PackageResources.registry_prune_3_lua)
    static let registrySplit = script("registry-split-4", PackageResources.registry_split_4_lua)
    static let registryAlive = script("registry-alive-2", PackageResources.registry_alive_2_lua)
    static let registryFollowed = script("registry-followed-5", PackageResources.registry_followed_5_lua)
    static let channelMark = script("channel-mark-1", PackageResources.channel_mark_1_lua)
    static let channelConfirm = script("channel-confirm-1", PackageResources.channel_confirm_1_lua)
    static let pushAccept = sharing("push-accept-4", replacing + PackageResources.push_accept_4_lua)
    static let pushBegin = sharing("push-begin-10", PackageResources.push_begin_10_lua)
    static let pushCancel = sharing("push-cancel-3", PackageResources.push_cancel_3_lua)
    static let taskClaim = sharing("task-claim-5", PackageResources.task_claim_5_lua)
    static let taskPlanned = script("task-planned-1", PackageResources.task_planned_1_lua)
    static let taskRenew = script("task-renew-1", PackageResources.task_renew_1_lua)
    static let taskSettle = sharing("task-settle-8", replacing + PackageResources.task_settle_8_lua)
    static let retryClaim = sharing("retry-claim-3", PackageResources.retry_claim_3_lua)
    static let retrySettle = sharing("retry-settle-4", PackageResources.retry_settle_4_lua)
    static let latePut = sharing("late-put-4", late + replacing + PackageResources.late_put_4_lua)
    static let owedStrike = sharing("owed-strike-5", PackageResources.owed_strike_5_lua)
    static let queueDue = script("queue-due-2", PackageResources.queue_due_2_lua)
    static let deadRetry = sharing("dead-retry-8", PackageResources.dead_retry_8_lua)
    static let deadCollect = sharing("dead-collect-4", PackageResources.dead_collect_4_lua)
    static let guardCount = script("guard-count-1", PackageResources.guard_count_1_lua)
    static let quarantineForget = script("quarantine-forget-1", PackageResources.quarantine_forget_1_lua)
    static let alarmRaise = script("alarm-raise-1", PackageResources.alarm_raise_1_lua)
    static let broadcastWant = script("broadcast-want-1", PackageResources.broadcast_want_1_lua)
    static let broadcastLive = script("broadcast-live-1", PackageResources.broadcast_live_1_lua)
    static let broadcastDiscard = script("broadcast-discard-2", PackageResources.broadcast_discard_2_lua)
    static let broadcastRetire = script("broadcast-retire-1", PackageResources.broadcast_retire_1_lua)
    static let broadcastGone = script("broadcast-gone-1", PackageResources.broadcast_gone_1_lua)
    static let broadcastFail = script("broadcast-fail-1", PackageResources.broadcast_fail_1_lua)
    static let broadcastLease = script("broadcast-lease-1", PackageResources.broadcast_lease_1_lua)
    static let broadcastIntend = script("broadcast-intend-2", PackageResources.broadcast_intend_2_lua)
    static let broadcastTake = sharing("broadcast-take-3", replacing + PackageResources.broadcast_take_3_lua)
    static let broadcastSettle = sharing("broadcast-settle-3", PackageResources.broadcast_settle_3_lua)
    static let broadcastForeign = script("broadcast-foreign-2", PackageResources.broadcast_foreign_2_lua)
    static let queueLook = script("queue-look-1", PackageResources.queue_look_1_lua)
    static let queueForget = script("queue-forget-1", PackageResources.queue_forget_1_lua)
    static let scheduleCreate = script("schedule-create-1", PackageResources.schedule_create_1_lua)
    static let scheduleQueue = script("schedule-queue-1", PackageResources.schedule_queue_1_lua)
    static let scheduleDue = script("schedule-due-1", PackageResources.schedule_due_1_lua)
    static let scheduleTake = script("schedule-take-1", PackageResources.schedule_take_1_lua)
    static let scheduleReplace = script("schedule-replace-1", PackageResources.schedule_replace_1_lua)
    static let scheduleSettle = script("schedule-settle-1", PackageResources.schedule_settle_1_lua)
    static let endTake = script("end-take-2", PackageResources.end_take_2_lua)
    static let providerToken = script("provider-token-1", PackageResources.provider_token_1_lua)
    static let schemaSet = script("schema-set-1", PackageResources.schema_set_1_lua)

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

    private static let late = PackageResources.shared_late_lua
    private static let ended = PackageResources.shared_ended_lua
    private static let replacing = PackageResources.shared_replacing_lua

    private static func script(_ name: String, _ source: [UInt8]) -> RedisScript {
        RedisScript(name: name, source: String(decoding: source, as: UTF8.self))
    }

    // Redis has no function libraries before version 7, so each script contains its fragments.

    private static func sharing(_ name: String, _ source: [UInt8]) -> RedisScript {
        script(name, ended + PackageResources.shared_endings_lua + source)
    }

    private static func ofRegistry(_ name: String, _ source: [UInt8]) -> RedisScript {
        script(name, PackageResources.shared_registry_lua + source)
    }
}
