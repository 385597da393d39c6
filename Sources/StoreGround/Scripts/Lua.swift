package import Redis

/// The scripts of `Lua/`, embedded at build time, with the fragments they call. Their heads name keys and arguments.
package enum Lua {
    private typealias Source = PackageResources

    package static let registrySet = script(
        "registry-set", [.constants, .buckets], rules: [.rotation],
        laterRules: [.lone, .queueLate, .supersedeQueued, .registration, .newcomers], Source.registry_set_lua)
    package static let registryJoin = script("registry-join", [.buckets, .rotation], Source.registry_join_lua)
    package static let registryRemove = script("registry-remove", [.removals, .buckets], Source.registry_remove_lua)
    package static let registryPrune = script("registry-prune", [.removals], Source.registry_prune_lua)
    package static let registrySplit = script("registry-split", [.record, .tally], Source.registry_split_lua)
    package static let registryAlive = script("registry-alive", [.holders], Source.registry_alive_lua)
    package static let registryFollowed = script("registry-followed", [.holders], Source.registry_followed_lua)
    package static let registryForget = script("registry-forget", [.record], Source.registry_forget_lua)
    package static let registryForgotten = script("registry-forgotten", Source.registry_forgotten_lua)
    package static let followingDrop = script("following-drop", Source.following_drop_lua)
    package static let followingTidy = script("following-tidy", [.tally], Source.following_tidy_lua)
    package static let channelMark = script("channel-mark", [.since, .tags], Source.channel_mark_lua)
    package static let channelConfirm = script("channel-confirm", [.since], Source.channel_confirm_lua)
    package static let channelForget = script("channel-forget", Source.channel_forget_lua)
    package static let pushAccept = script(
        "push-accept", [.constants, .time], rules: [.lone, .kept, .holders, .supersedeUnswept, .waking],
        laterRules: [.endings], Source.push_accept_lua)
    package static let pushChain = script("push-chain", [.kept], Source.push_chain_lua)
    package static let pushForget = script("push-forget", [.kept], Source.push_forget_lua)
    package static let pushBegin = script(
        "push-begin", [.constants, .time], rules: [.lone, .lease, .broadcast, .sweep, .pacing, .states, .budget],
        Source.push_begin_lua)
    package static let pushCancel = script("push-cancel", [.time, .lone, .kept, .endings], Source.push_cancel_lua)
    package static let indexPack = script("index-pack", Source.index_pack_lua)
    package static let indexDrop = script("index-drop", Source.index_drop_lua)
    package static let receiptCount = script("receipt-count", [.time, .lone, .kept], Source.receipt_count_lua)
    package static let taskClaim = script("task-claim", [.time, .queue, .lease], Source.task_claim_lua)
    package static let taskPlanned = script("task-planned", Source.task_planned_lua)
    package static let taskRenew = script("task-renew", [.time, .lone, .lease], Source.task_renew_lua)
    package static let taskSettle = script(
        "task-settle", [.time, .keep], rules: [.lone, .lease, .waiting, .checkpoint, .sweep], Source.task_settle_lua)
    package static let retryClaim = script("retry-claim", [.time, .lease], Source.retry_claim_lua)
    package static let retrySettle = script("retry-settle", [.time, .lease, .attempts], Source.retry_settle_lua)
    package static let latePut = script(
        "late-put", [.time, .lone, .kept, .queueLate, .supersedeQueued], Source.late_put_lua)
    package static let removalConfirm = script(
        "removal-confirm", [.time, .queue, .endings], Source.removal_confirm_lua)
    package static let queueDue = script("queue-due", Source.queue_due_lua)
    package static let deadRetry = script("dead-retry", [.time, .broadcast, .resuming], Source.dead_retry_lua)
    package static let deadCollect = script("dead-collect", [.time, .queue, .open], Source.dead_collect_lua)
    package static let guardCount = script("guard-count", [.time], Source.guard_count_lua)
    package static let quarantineForget = script("quarantine-forget", Source.quarantine_forget_lua)
    package static let alarmRaise = script("alarm-raise", [.events], Source.alarm_raise_lua)
    package static let alarmClear = script("alarm-clear", [.events], Source.alarm_clear_lua)
    package static let eventAdd = script("event-add", [.events], Source.event_add_lua)
    package static let broadcastWant = script("broadcast-want", Source.broadcast_want_lua)
    package static let broadcastLive = script("broadcast-live", Source.broadcast_live_lua)
    package static let broadcastDiscard = script("broadcast-discard", Source.broadcast_discard_lua)
    package static let broadcastRetire = script("broadcast-retire", Source.broadcast_retire_lua)
    package static let broadcastGone = script("broadcast-gone", Source.broadcast_gone_lua)
    package static let broadcastFail = script("broadcast-fail", Source.broadcast_fail_lua)
    package static let broadcastLease = script("broadcast-lease", [.time, .lease], Source.broadcast_lease_lua)
    package static let broadcastIntend = script("broadcast-intend", [.time, .lease], Source.broadcast_intend_lua)
    package static let broadcastTake = script(
        "broadcast-take", [.time, .since, .lease, .broadcast, .supersedeBroadcasts, .broadcastWalk],
        Source.broadcast_take_lua)
    package static let broadcastSettle = script(
        "broadcast-settle", [.time, .lease, .broadcast], Source.broadcast_settle_lua)
    package static let broadcastForeign = script("broadcast-foreign", Source.broadcast_foreign_lua)
    package static let queueLook = script("queue-look", Source.queue_look_lua)
    package static let clockLook = script("clock-look", [.time], Source.clock_look_lua)
    package static let timerHasten = script("timer-hasten", Source.timer_hasten_lua)
    package static let queueForget = script("queue-forget", Source.queue_forget_lua)
    package static let scheduleCreate = script("schedule-create", Source.schedule_create_lua)
    package static let scheduleQueue = script("schedule-queue", Source.schedule_queue_lua)
    package static let scheduleDue = script("schedule-due", [.time], Source.schedule_due_lua)
    package static let scheduleClaim = script("schedule-claim", [.since], Source.schedule_claim_lua)
    package static let scheduleReplace = script("schedule-replace", Source.schedule_replace_lua)
    package static let scheduleDecide = script("schedule-decide", Source.schedule_decide_lua)
    package static let scheduleSettle = script("schedule-settle", Source.schedule_settle_lua)
    package static let appLease = script("app-lease", Source.app_lease_lua)
    package static let endClaim = script("end-claim", [.time], Source.end_claim_lua)
    package static let providerToken = script("provider-token", Source.provider_token_lua)
    package static let schemaSet = script("schema-set", Source.schema_set_lua)
    package static let credentialSet = script("credential-set", Source.credential_set_lua)
    package static let rateTake = script("rate-take", [.time, .since], Source.rate_take_lua)
    package static let deliveryTurn = script("delivery-turn", [.time, .since], Source.delivery_turn_lua)
    package static let rightsTry = script("rights-try", Source.rights_try_lua)
    package static let actionAdd = script("action-add", [.time], Source.action_add_lua)

    package static let all: [RedisScript] = ofCore + ofFeatures.joined()

    private static let ofCore: [RedisScript] = [
        registrySet, registryJoin, registryRemove, registryPrune, registrySplit, registryAlive, registryFollowed,
        registryForget, registryForgotten, followingDrop, followingTidy, channelMark,
        channelConfirm, channelForget, pushAccept, pushChain, pushForget, pushBegin, pushCancel, indexPack, indexDrop,
        receiptCount,
        taskClaim, taskPlanned, taskRenew, taskSettle, retryClaim, retrySettle, latePut, removalConfirm, queueDue,
        queueForget, queueLook, clockLook, timerHasten, deadRetry, deadCollect, guardCount, quarantineForget,
        alarmRaise, alarmClear, eventAdd, appLease, scheduleCreate, scheduleQueue, scheduleDue, scheduleClaim,
        scheduleReplace, scheduleDecide, scheduleSettle, endClaim, broadcastWant, broadcastLive, broadcastDiscard,
        broadcastRetire,
        broadcastGone, broadcastFail, broadcastLease, broadcastIntend, broadcastForeign, broadcastTake, broadcastSettle,
        providerToken, schemaSet, actionAdd, credentialSet, rateTake, deliveryTurn, rightsTry,
    ]

    static func script(_ name: String, _ source: [UInt8]) -> RedisScript { script(name, [], source) }

    /// - Parameters:
    ///   - fragments: stand before the body.
    ///   - rules: stand at its line `-- (rules)`. A call that returns before that line does not pay for them. Each
    ///     function of a fragment costs a call as much as a cheap Redis command does.
    ///   - laterRules: the same for the line `-- (later rules)`.
    static func script(
        _ name: String, _ fragments: [LuaFragment], rules: [LuaFragment] = [],
        laterRules: [LuaFragment] = [], _ source: [UInt8]
    ) -> RedisScript {
        var body = String(decoding: source, as: UTF8.self)
        let before = LuaFragment.all(fragments)
        var present = before
        for (mark, fragments) in [("-- (rules)\n", rules), ("-- (later rules)\n", laterRules)] {
            guard let line = body.firstRange(of: mark) else { continue }
            let missing = LuaFragment.all(fragments).filter { !present.contains($0) }
            body.insert(contentsOf: missing.map(\.source).joined(), at: line.upperBound)
            present += missing
        }
        var (keys, arguments, takesRest) = ([String](), [String](), false)
        // Lines such as `-- keys n, q: …`.
        for line in body.split(separator: "\n").prefix(while: { $0.hasPrefix("--") }) {
            guard let end = line.firstIndex(of: ":") else { continue }
            let words = line[..<end].split { $0 == " " || $0 == "," }.dropFirst()
            switch words.first {
            case "key", "keys": keys += words.dropFirst().map(String.init)
            case "argument", "arguments": arguments += words.dropFirst().map(String.init)
            case "rest": takesRest = true
            default: break
            }
        }
        return RedisScript(
            name: name, keys: keys, arguments: arguments, takesRest: takesRest,
            library: before.map(\.source).joined(), body: body)
    }
}
