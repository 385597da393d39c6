/// The sentence of a page after something was done: one row each. The address names it by a word, so a link cannot make
/// up a text.
struct Notice: Sendable {
    let word: String
    let text: String

    init(_ word: String, _ text: String) { (self.word, self.text) = (word, text) }

    /// The notice that an address names. Nil for a word that no notice has.
    static func of(_ word: String) -> Notice? { all.first { $0.word == word } }

    static let all: [Notice] = ofCore + ofFeatures.joined()

    private static let ofCore: [Notice] = [
        cancelled, retried, dropped, forgotten, paused, resumed, released, discarded, kept, removed, waiting,
        keptInPlace, nothingChosen, nothingForgotten, broadcastWanted, broadcastDiscarded, scheduleCancelled,
        scheduleChanged, scheduled,
        undone, draftGone, draftDropped, tooLate, alarmKnown, alarmLoud,
        alarmOver, revoked, schemaSet, schemaDeleted,
    ]
}

extension Notice {
    static let cancelled = Notice("cancelled", "The unsent part of the push is cancelled.")
    static let retried = Notice("retried", "The given-up tokens are sent to again.")
    static let dropped = Notice("dropped", "The dead letter is dropped.")
    static let forgotten = Notice("forgotten", "The device is being forgotten: every trace of it goes within minutes.")
    static let paused = Notice("paused", "Paused. Pushes are accepted and kept, and within a second nothing is sent.")
    static let resumed = Notice("resumed", "Resumed. Waiting pushes go out now.")
    static let released = Notice("released", "Released. The next push goes to these tokens again.")
    static let discarded = Notice("discarded", "Discarded. The quarantined tokens are pruned.")
    static let kept = Notice("kept", "The template is saved.")
    static let removed = Notice("removed", "The template is removed.")
    static let waiting = Notice("waiting", "APNs has not answered yet. A worker goes on in the background.")
    static let keptInPlace = Notice("kept-in-place", "The template is saved in place of the one that had its title.")
    static let nothingChosen = Notice(
        "nothing-chosen", "Nothing was chosen, so nothing was done. Check the boxes of the rows first.")
    static let nothingForgotten = Notice(
        "nothing-forgotten", "Nothing is stored of that device, so nothing was forgotten.")
    static let broadcastWanted = Notice("broadcast-wanted", "The name has a broadcast channel.")
    static let broadcastDiscarded = Notice("broadcast-discarded", "The broadcast channel is deleted.")
    static let scheduleCancelled = Notice("schedule-cancelled", "The schedule is cancelled. Nothing of it is sent.")
    static let scheduleChanged = Notice("schedule-changed", "The schedule is changed.")
    static let scheduled = Notice("scheduled", "Scheduled. It is listed here until its time comes.")
    static let undone = Notice("undone", "Taken back. Nothing was sent, and the push is here to be changed.")
    static let draftGone = Notice("draft-gone", "That draft is gone: it was published, or removed.")
    static let draftDropped = Notice("draft-dropped", "The draft is removed.")
    static let tooLate = Notice("too-late", "It was on its way already.")
    static let alarmKnown = Notice("alarm-known", "The alarm is marked as known. It is quiet until it ends.")
    static let alarmLoud = Notice("alarm-loud", "The alarm is shown on every page again.")
    static let alarmOver = Notice("alarm-over", "That alarm has ended.")
    static let revoked = Notice("revoked", "The credential is revoked. Every gateway knows it within a second.")
    static let schemaSet = Notice("schema-set", "The schema is saved. It checks the next push.")
    static let schemaDeleted = Notice("schema-deleted", "The schema is deleted.")
}
