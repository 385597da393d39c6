import Redis

/// The scripts of `Lua/`, embedded at build time, each with the number of its keys and the fragments that it calls.
enum Lua {
    private typealias Source = PackageResources

    static let registrySet = script(
        "registry-set", keys: 10, [.buckets, .queueLate, .supersedeQueued, .registration, .newcomers],
        Source.registry_set_lua)
    static let registryRemove = script("registry-remove", keys: 3, [.record, .buckets], Source.registry_remove_lua)
    static let registryPrune = script("registry-prune", keys: 3, [.record], Source.registry_prune_lua)
    static let registrySplit = script("registry-split", keys: 4, [.record], Source.registry_split_lua)
    static let registryAlive = script("registry-alive", keys: 2, [.record], Source.registry_alive_lua)
    static let registryFollowed = script("registry-followed", keys: 5, [.record], Source.registry_followed_lua)
    static let channelMark = script("channel-mark", keys: 1, [.tags], Source.channel_mark_lua)
    static let channelConfirm = script("channel-confirm", keys: 1, Source.channel_confirm_lua)
    static let pushAccept = script(
        "push-accept", keys: 4, [.time, .record, .supersedeUnswept, .waking], Source.push_accept_lua)
    static let pushBegin = script(
        "push-begin", keys: 10, [.time, .lease, .broadcast, .sweep, .pacing, .states, .budget], Source.push_begin_lua)
    static let pushCancel = script("push-cancel", keys: 3, [.time, .endings], Source.push_cancel_lua)
    static let taskClaim = script("task-claim", keys: 5, [.time, .queue, .lease], Source.task_claim_lua)
    static let taskPlanned = script("task-planned", keys: 1, Source.task_planned_lua)
    static let taskRenew = script("task-renew", keys: 1, [.time, .lease], Source.task_renew_lua)
    static let taskSettle = script(
        "task-settle", keys: 8, [.time, .lease, .waiting, .checkpoint, .sweep], Source.task_settle_lua)
    static let retryClaim = script("retry-claim", keys: 3, [.time, .lease], Source.retry_claim_lua)
    static let retrySettle = script("retry-settle", keys: 4, [.time, .lease, .attempts], Source.retry_settle_lua)
    static let latePut = script("late-put", keys: 4, [.time, .queueLate, .supersedeQueued], Source.late_put_lua)
    static let removalConfirm = script(
        "removal-confirm", keys: 5, [.time, .queue, .endings], Source.removal_confirm_lua)
    static let queueDue = script("queue-due", keys: 2, Source.queue_due_lua)
    static let deadRetry = script(
        "dead-retry", keys: 9, [.time, .queue, .broadcast, .resuming], Source.dead_retry_lua)
    static let deadCollect = script("dead-collect", keys: 4, [.time, .queue], Source.dead_collect_lua)
    static let guardCount = script("guard-count", keys: 1, [.time], Source.guard_count_lua)
    static let quarantineForget = script("quarantine-forget", keys: 1, Source.quarantine_forget_lua)
    static let alarmRaise = script("alarm-raise", keys: 1, Source.alarm_raise_lua)
    static let broadcastWant = script("broadcast-want", keys: 1, Source.broadcast_want_lua)
    static let broadcastLive = script("broadcast-live", keys: 1, Source.broadcast_live_lua)
    static let broadcastDiscard = script("broadcast-discard", keys: 2, Source.broadcast_discard_lua)
    static let broadcastRetire = script("broadcast-retire", keys: 1, Source.broadcast_retire_lua)
    static let broadcastGone = script("broadcast-gone", keys: 1, Source.broadcast_gone_lua)
    static let broadcastFail = script("broadcast-fail", keys: 1, Source.broadcast_fail_lua)
    static let broadcastLease = script("broadcast-lease", keys: 1, [.time, .lease], Source.broadcast_lease_lua)
    static let broadcastIntend = script("broadcast-intend", keys: 2, [.time, .lease], Source.broadcast_intend_lua)
    static let broadcastTake = script(
        "broadcast-take", keys: 3, [.time, .lease, .broadcast, .supersedeBroadcasts], Source.broadcast_take_lua)
    static let broadcastSettle = script(
        "broadcast-settle", keys: 3, [.time, .lease, .broadcast], Source.broadcast_settle_lua)
    static let broadcastForeign = script("broadcast-foreign", keys: 2, Source.broadcast_foreign_lua)
    static let queueLook = script("queue-look", keys: 1, Source.queue_look_lua)
    static let queueForget = script("queue-forget", keys: 1, Source.queue_forget_lua)
    static let scheduleCreate = script("schedule-create", keys: 1, Source.schedule_create_lua)
    static let scheduleQueue = script("schedule-queue", keys: 1, Source.schedule_queue_lua)
    static let scheduleDue = script("schedule-due", keys: 1, [.time], Source.schedule_due_lua)
    static let scheduleClaim = script("schedule-claim", keys: 1, Source.schedule_claim_lua)
    static let scheduleReplace = script("schedule-replace", keys: 1, Source.schedule_replace_lua)
    static let scheduleSettle = script("schedule-settle", keys: 1, Source.schedule_settle_lua)
    static let endClaim = script("end-claim", keys: 2, [.time], Source.end_claim_lua)
    static let providerToken = script("provider-token", keys: 1, Source.provider_token_lua)
    static let schemaSet = script("schema-set", keys: 1, Source.schema_set_lua)

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
        removalConfirm,
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
        scheduleClaim,
        scheduleReplace,
        scheduleSettle,
        endClaim,
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

    private static func script(_ name: String, keys: Int, _ source: [UInt8]) -> RedisScript {
        script(name, keys: keys, [], source)
    }

    private static func script(
        _ name: String, keys: Int, _ fragments: [LuaFragment], _ source: [UInt8]
    ) -> RedisScript {
        let sources = LuaFragment.all(fragments).map(\.source) + [String(decoding: source, as: UTF8.self)]
        return RedisScript(name: name, source: sources.joined(), keyCount: keys)
    }
}
