import LiveActivity

/// The numbers that Swift and scripts share; one script's own numbers are locals there. The type that a number is about
/// has a constant of its own for it, with the reason. It takes the value from here, because scripts stand below all
/// types that call them.
package enum ScriptNumbers {
    package static let lateLife: Duration = .seconds(8 * 3_600)
    package static let activityLife: Int64 = (8 * 60 + 15) * 60_000
    package static let recordEpoch: Int64 = 1_577_836_800_000
    package static let ageUnit: Int64 = 2 * 60_000
    package static let nameSlack: Duration = .seconds(3_600)
    package static let outboxLife: Duration = .seconds(7 * 86_400)
    package static let deadLetterChannels = 100_000
    package static let handedTokens = 16
    package static let queueMost = 64
    package static let queueOneLate: UInt16 = 16_384
    package static let queueMoreLate: UInt16 = 32_768
    package static let queueLateUnit: UInt16 = 512
    package static let tombstone: UInt8 = 1
    package static let undated: UInt8 = 2
    package static let pruned: UInt8 = 4
    package static let ahead: UInt8 = 4
    package static let noted: UInt8 = 8
    package static let twice: UInt8 = 16
    package static let removalBytes = 8
    package static let budgetWindow: Int64 = 3_600_000
    package static let clockError: Duration = .seconds(1)
    package static let wakeAgain: Duration = .seconds(5)

    /// These numbers as locals of Lua. Times are in milliseconds.
    package static let text = """
        -- How long content states for late joiners are kept, and the notes of late joiners and started channels.
        local LATE_LIFE = \(lateLife.milliseconds)
        -- From an activity's start to the time when its registration no longer counts.
        local ACTIVITY_LIFE = \(activityLife)
        -- 2020-01-01, from which the times of a record count.
        local RECORD_EPOCH = \(recordEpoch)
        -- Unit of an activity's age in a record.
        local AGE_UNIT = \(ageUnit)
        -- How much longer than its pushes a name is kept.
        local NAME_SLACK = \(nameSlack.milliseconds)
        -- How long an outbox is kept after the last push that it tells of.
        local OUTBOX_LIFE = \(outboxLife.milliseconds)
        local DEAD_LETTER_CHANNELS = \(deadLetterChannels)
        -- Most tokens of a name that its push begins with, so that a worker reads none.
        local MOST_TOKENS = \(handedTokens)
        -- Most pushes in a channel's retry queue.
        local QUEUE_MOST = \(queueMost)
        -- The number of a retry queue's header, see WaitingChannel.
        local QUEUE_ONE_LATE, QUEUE_MORE_LATE = \(queueOneLate), \(queueMoreLate)
        local QUEUE_LATE_UNIT = \(queueLateUnit)
        -- Flags of a record or tombstone. UNDATED and PRUNED are for tombstones, AHEAD for records.
        local TOMBSTONE, UNDATED, PRUNED = \(tombstone), \(undated), \(pruned)
        local AHEAD, NOTED, TWICE = \(ahead), \(noted), \(twice)
        local REMOVAL_BYTES = \(removalBytes)
        -- The period of the budget of priority 10.
        local BUDGET_WINDOW = \(budgetWindow)
        -- How far a process's clock may be off.
        local CLOCK_ERROR = \(clockError.milliseconds)
        -- A wake-up may be lost, so it is repeated after this time.
        local WAKE_AGAIN = \(wakeAgain.milliseconds)

        """
}
