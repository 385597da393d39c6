/// Lua that is put before scripts, because Redis 6 has no function libraries. It may use the fragments before it.
enum LuaFragment: CaseIterable {
    private typealias Source = PackageResources

    case constants, time, id, lone, keptNumbers, keep, kept
    case since, tally, record, removals, holders, buckets, rotation, queue, lease
    case queueLate, ended, supersede, standing, newest, comeback, endings
    case dead, broadcast, supersedeQueued, open, waiting, checkpoint, sweep, attempts
    case supersedeUnswept, waking,
        pacing, states, budget, registration, newcomers, resuming, supersedeBroadcasts, broadcastWalk, tags, events

    /// The text of this fragment, and the fragments that it uses itself.
    private var content: (text: [UInt8], needs: [LuaFragment]) {
        switch self {
        case .constants: (Array(ScriptNumbers.text.utf8), [])
        case .time: (Source.shared_time_lua, [])
        case .id: (Source.shared_id_lua, [])
        case .lone: (Source.shared_lone_lua, [.constants, .id])
        case .keptNumbers: (Array(KeptFlags.text.utf8), [])
        case .keep: (Source.shared_keep_lua, [.keptNumbers, .id])
        case .kept: (Source.shared_kept_lua, [.keptNumbers, .id])
        case .since: (Source.shared_since_lua, [.constants])
        case .tally: (Source.shared_tally_lua, [])
        case .record: (Source.shared_record_lua, [.constants])
        case .removals: (Source.shared_removals_lua, [.record])
        case .holders: (Source.shared_holders_lua, [])
        case .buckets: (Source.shared_buckets_lua, [])
        case .rotation: (Source.shared_rotation_lua, [.constants])
        case .queue: (Source.shared_queue_lua, [.constants, .id])
        case .lease: (Source.shared_lease_lua, [])
        case .queueLate: (Source.shared_queue_late_lua, [])
        case .ended: (Source.shared_ended_lua, [])
        case .comeback: (Source.shared_comeback_lua, [.supersede, .standing, .newest])
        case .endings: (Source.shared_endings_lua, [.constants, .ended, .tally, .comeback])
        case .dead: (Source.shared_dead_lua, [.constants, .endings])
        case .supersede: (Source.shared_supersede_lua, [.constants])
        case .standing: (Source.shared_standing_lua, [])
        case .newest: (Source.shared_newest_lua, [.constants])
        case .broadcast: (Source.shared_broadcast_lua, [.dead])
        case .supersedeQueued: (Source.shared_supersede_queued_lua, [.queue, .dead, .supersede, .standing])
        case .open: (Source.shared_open_lua, [])
        case .waiting: (Source.shared_waiting_lua, [.supersedeQueued, .open])
        case .checkpoint: (Source.shared_checkpoint_lua, [])
        case .sweep: (Source.shared_sweep_lua, [])
        case .attempts: (Source.shared_attempts_lua, [.supersedeQueued, .open])
        case .supersedeUnswept: (Source.shared_supersede_unswept_lua, [])
        case .waking: (Source.shared_waking_lua, [.constants, .since])
        case .pacing: (Source.shared_pacing_lua, [.since])
        case .states: (Source.shared_states_lua, [.standing, .newest, .kept])
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
}
