import LiveActivity

/// Lua that is put before scripts, because Redis 6 has no function libraries. It may use the fragments before it.
enum LuaFragment: CaseIterable {
    private typealias Source = PackageResources

    case constants, time, since, tally, record, removals, holders, buckets, rotation, queue, lease, queueLate, ended,
        endings
    case dead, supersede, newest, broadcast, supersedeQueued, open, waiting, checkpoint, sweep, attempts
    case supersedeUnswept, waking,
        pacing, states, budget, registration, newcomers, resuming, supersedeBroadcasts, broadcastWalk, tags, events

    /// The text of this fragment, and the fragments that it uses itself.
    private var content: (text: [UInt8], needs: [LuaFragment]) {
        switch self {
        case .constants: (Array(Self.numbers.utf8), [])
        case .time: (Source.shared_time_lua, [])
        case .since: (Source.shared_since_lua, [.constants])
        case .tally: (Source.shared_tally_lua, [])
        case .record: (Source.shared_record_lua, [.constants])
        case .removals: (Source.shared_removals_lua, [.record])
        case .holders: (Source.shared_holders_lua, [])
        case .buckets: (Source.shared_buckets_lua, [])
        case .rotation: (Source.shared_rotation_lua, [.constants])
        case .queue: (Source.shared_queue_lua, [.constants])
        case .lease: (Source.shared_lease_lua, [])
        case .queueLate: (Source.shared_queue_late_lua, [])
        case .ended: (Source.shared_ended_lua, [])
        case .endings: (Source.shared_endings_lua, [.constants, .ended, .tally])
        case .dead: (Source.shared_dead_lua, [.constants, .endings])
        case .supersede: (Source.shared_supersede_lua, [.constants])
        case .newest: (Source.shared_newest_lua, [.constants])
        case .broadcast: (Source.shared_broadcast_lua, [.dead])
        case .supersedeQueued: (Source.shared_supersede_queued_lua, [.queue, .dead, .supersede])
        case .open: (Source.shared_open_lua, [])
        case .waiting: (Source.shared_waiting_lua, [.supersedeQueued, .open])
        case .checkpoint: (Source.shared_checkpoint_lua, [])
        case .sweep: (Source.shared_sweep_lua, [])
        case .attempts: (Source.shared_attempts_lua, [.queue, .dead, .open])
        case .supersedeUnswept: (Source.shared_supersede_unswept_lua, [])
        case .waking: (Source.shared_waking_lua, [.constants, .since])
        case .pacing: (Source.shared_pacing_lua, [.since])
        case .states: (Source.shared_states_lua, [.newest])
        case .budget: (Source.shared_budget_lua, [.constants, .since])
        case .registration: (Source.shared_registration_lua, [.removals])
        case .newcomers: (Source.shared_newcomers_lua, [.newest, .time, .since, .queue])
        case .resuming: (Source.shared_resuming_lua, [.constants, .queue])
        case .supersedeBroadcasts: (Source.shared_supersede_broadcasts_lua, [.supersede])
        case .broadcastWalk: (Source.shared_broadcast_walk_lua, [.supersede])
        case .tags: (Source.shared_tags_lua, [.tally])
        case .events: (Source.shared_events_lua, [])
        }
    }

    var source: String { String(decoding: content.text, as: UTF8.self) }

    /// The fragments and all that they need, in the order in which they stand before a script.
    static func all(_ fragments: [LuaFragment]) -> [LuaFragment] {
        var found = Set(fragments)
        for fragment in allCases.reversed() where found.contains(fragment) { found.formUnion(fragment.content.needs) }
        return allCases.filter(found.contains)
    }

    /// The numbers that Swift and scripts share; one script's own numbers are locals there. Times are in milliseconds.
    private static let numbers = """
        -- How long a push is tried if its record has no deadline.
        local PUSH_LIFE = \(ActivityEvent.update.life.milliseconds)
        -- How long content states for late joiners are kept, and the notes of late joiners and started channels.
        local LATE_LIFE = \(LateJoiners.life.milliseconds)
        -- From an activity's start to the time when its registration no longer counts.
        local ACTIVITY_LIFE = \(RegistryRecord.Span.activity.life)
        -- 2020-01-01, from which the times of a record count.
        local RECORD_EPOCH = \(RegistryRecord.epoch)
        -- Unit of an activity's age in a record.
        local AGE_UNIT = \(RegistryRecord.ageUnit)
        -- How much longer than its pushes a name is kept.
        local NAME_SLACK = \(Keyspace.nameSlack.milliseconds)
        -- How long an outbox is kept after the last push that it tells of.
        local OUTBOX_LIFE = \(Outbox.life.milliseconds)
        local DEAD_LETTER_CHANNELS = \(DeadLetters.mostChannels)
        -- Most pushes in a channel's retry queue.
        local QUEUE_MOST = \(WaitingChannel.mostPushes)
        -- The number of a retry queue's header, see WaitingChannel.
        local QUEUE_ONE_LATE, QUEUE_MORE_LATE = \(WaitingChannel.oneLate), \(WaitingChannel.moreLate)
        local QUEUE_LATE_UNIT = \(WaitingChannel.lateUnit)
        -- Flags of a record or tombstone. PRUNED is for tombstones, AHEAD for records.
        local TOMBSTONE, PRUNED = \(RegistryRecord.tombstone), \(RegistryRecord.pruned)
        local AHEAD, NOTED, TWICE = \(RegistryRecord.ahead), \(RegistryRecord.noted), \(RegistryRecord.twice)
        local REMOVAL_BYTES = \(RegistryRecord.removalLength)
        -- The period of the budget of priority 10.
        local BUDGET_WINDOW = \(HighBudget.window)
        -- How far a process's clock may be off.
        local CLOCK_ERROR = \(ServerTime.error.milliseconds)
        -- A wake-up may be lost, so it is repeated after this time.
        local WAKE_AGAIN = \(WorkQueue.wakeAgain.milliseconds)

        """
}
