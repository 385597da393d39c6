import LiveActivity

/// Lua that is put before each script that uses it, because Redis has no function libraries before version 7. A
/// fragment may use those before it.
enum LuaFragment: CaseIterable {
    case constants, time, tally, record, buckets, queue, lease, queueLate, ended, endings, dead, supersede, broadcast,
        supersedeQueued, waiting, checkpoint, sweep, attempts, supersedeUnswept, waking, pacing, states, budget,
        registration, newcomers, resuming, supersedeBroadcasts, tags

    var source: String {
        switch self {
        case .constants: Self.numbers
        case .time: Self.text(PackageResources.shared_time_lua)
        case .tally: Self.text(PackageResources.shared_tally_lua)
        case .record: Self.text(PackageResources.shared_record_lua)
        case .buckets: Self.text(PackageResources.shared_buckets_lua)
        case .queue: Self.text(PackageResources.shared_queue_lua)
        case .lease: Self.text(PackageResources.shared_lease_lua)
        case .queueLate: Self.text(PackageResources.shared_queue_late_lua)
        case .ended: Self.text(PackageResources.shared_ended_lua)
        case .endings: Self.text(PackageResources.shared_endings_lua)
        case .dead: Self.text(PackageResources.shared_dead_lua)
        case .supersede: Self.text(PackageResources.shared_supersede_lua)
        case .broadcast: Self.text(PackageResources.shared_broadcast_lua)
        case .supersedeQueued: Self.text(PackageResources.shared_supersede_queued_lua)
        case .waiting: Self.text(PackageResources.shared_waiting_lua)
        case .checkpoint: Self.text(PackageResources.shared_checkpoint_lua)
        case .sweep: Self.text(PackageResources.shared_sweep_lua)
        case .attempts: Self.text(PackageResources.shared_attempts_lua)
        case .supersedeUnswept: Self.text(PackageResources.shared_supersede_unswept_lua)
        case .waking: Self.text(PackageResources.shared_waking_lua)
        case .pacing: Self.text(PackageResources.shared_pacing_lua)
        case .states: Self.text(PackageResources.shared_states_lua)
        case .budget: Self.text(PackageResources.shared_budget_lua)
        case .registration: Self.text(PackageResources.shared_registration_lua)
        case .newcomers: Self.text(PackageResources.shared_newcomers_lua)
        case .resuming: Self.text(PackageResources.shared_resuming_lua)
        case .supersedeBroadcasts: Self.text(PackageResources.shared_supersede_broadcasts_lua)
        case .tags: Self.text(PackageResources.shared_tags_lua)
        }
    }

    /// The fragments that this one uses itself.
    private var needs: [LuaFragment] {
        switch self {
        case .constants, .time, .tally, .buckets, .lease, .queueLate, .ended, .checkpoint, .sweep, .pacing, .tags:
            []
        case .record, .queue, .supersede, .waking, .states, .budget: [.constants]
        case .resuming: [.queue]
        case .endings: [.ended, .tally]
        case .dead: [.constants, .endings]
        case .broadcast: [.dead]
        case .supersedeQueued: [.queue, .dead, .supersede]
        case .waiting: [.supersedeQueued]
        case .attempts: [.queue, .dead]
        case .supersedeUnswept: [.endings, .supersede]
        case .registration: [.record]
        case .newcomers: [.constants, .time, .queue]
        case .supersedeBroadcasts: [.supersede]
        }
    }

    /// The fragments and all that they need, in the order in which they stand before a script.
    static func all(_ fragments: [LuaFragment]) -> [LuaFragment] {
        var found = Set(fragments)
        for fragment in allCases.reversed() where found.contains(fragment) { found.formUnion(fragment.needs) }
        return allCases.filter(found.contains)
    }

    private static func text(_ source: [UInt8]) -> String { String(decoding: source, as: UTF8.self) }

    /// The numbers that Swift and scripts share. A number that only one script needs is a local there. Times are in
    /// milliseconds.
    private static let numbers = """
        -- How long a push is tried if its record has no deadline.
        local PUSH_LIFE = \(ActivityEvent.update.life.milliseconds)
        -- How long content states for late joiners are kept, and the notes of late joiners and started channels.
        local LATE_LIFE = \(LateJoiners.life.milliseconds)
        -- From an activity's start to the time when its registration no longer counts.
        local ACTIVITY_LIFE = \(RegistryRecord.Span.activity.life)
        -- Unit of an activity's age in a record.
        local AGE_UNIT = \(RegistryRecord.ageUnit)
        local DEAD_LETTER_LIFE = \(DeadLetters.life.milliseconds)
        local DEAD_LETTER_CHANNELS = \(DeadLetters.mostChannels)
        -- Most pushes in a channel's retry queue.
        local QUEUE_MOST = \(WaitingChannel.mostPushes)
        -- The number of a retry queue's header, see WaitingChannel.
        local QUEUE_ONE_LATE, QUEUE_MORE_LATE = \(WaitingChannel.oneLate), \(WaitingChannel.moreLate)
        local QUEUE_LATE_UNIT = \(WaitingChannel.lateUnit)
        -- Flags of a record or tombstone. PRUNED is for tombstones, AHEAD for records.
        local TOMBSTONE, PRUNED = \(RegistryRecord.tombstone), \(RegistryRecord.pruned)
        local AHEAD, NOTED = \(RegistryRecord.ahead), \(RegistryRecord.noted)
        -- The period of the budget of priority 10.
        local BUDGET_WINDOW = \(HighBudget.window)
        -- A wake-up may be lost, so it is repeated after this time.
        local WAKE_AGAIN = \(WorkQueue.wakeAgain.milliseconds)

        """
}
