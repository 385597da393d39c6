/// The sentence of a page after something was done. The address names it by a word, so a link cannot make up a text.
enum Notice: String, CaseIterable {
    case cancelled, retried, dropped, forgotten, paused, resumed, released, discarded, kept, removed, waiting
    case broadcastWanted = "broadcast-wanted"
    case broadcastDiscarded = "broadcast-discarded"
    case scheduleCancelled = "schedule-cancelled"
    case scheduled

    var text: String {
        switch self {
        case .cancelled: "The unsent part of the push is cancelled."
        case .retried: "The given-up tokens are sent to again."
        case .dropped: "The dead letter is dropped."
        case .forgotten: "The device is being forgotten: every trace of it goes within minutes."
        case .paused: "Paused. Pushes are accepted and kept, and nothing is sent."
        case .resumed: "Resumed. Waiting pushes go out now."
        case .released: "Released. The next push goes to these tokens again."
        case .discarded: "Discarded. The quarantined tokens are pruned."
        case .kept: "The template is saved."
        case .removed: "The template is removed."
        case .waiting: "APNs has not answered yet. A worker goes on in the background."
        case .broadcastWanted: "The name has a broadcast channel."
        case .broadcastDiscarded: "The broadcast channel is deleted."
        case .scheduleCancelled: "The schedule is cancelled. Nothing of it is sent."
        case .scheduled: "Scheduled. It is listed here until its time comes."
        }
    }
}
