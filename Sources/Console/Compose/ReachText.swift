import Answers
import LiveActivity

/// Says in a sentence whom a push would reach, from the API's answer to a dry run.
struct ReachText {
    /// Nil: not counted.
    let count: Int?
    let isComplete: Bool
    let isBroadcast: Bool
    let isStart: Bool
    /// It fits into a broadcast channel alone.
    let isTooLarge: Bool

    init(_ push: PreviewAnswer) {
        isStart = push.startTokens != nil
        isTooLarge = push.payloadBytes > Publish.maximumTokenPayload
        count = isTooLarge ? 0 : push.startTokens ?? push.tokens
        isComplete = push.complete == nil
        isBroadcast = (push.broadcastChannels ?? 0) > 0
    }

    var number: String { count.map { (isComplete ? "" : "over ") + Shown.count($0) } ?? "an unknown number of" }

    func sentence(_ compose: ComposeForm, isScheduled: Bool) -> String {
        let name = compose.name
        let audience = compose.form.text("audience") ?? "all"
        let whom =
            isStart
            ? "the devices with a start token of \(compose.form.text("attributes_type") ?? "its type")"
            : audience == "all" ? "every device that follows \(name)" : "the chosen devices that follow \(name)"
        if count == 0, !isBroadcast {
            return (isScheduled ? "no" : "No") + " lock screen will light: "
                + (isStart ? "no device has a start token of that type." : "nobody in this audience follows \(name).")
        }
        if isTooLarge {
            let limit = Shown.count(Publish.maximumTokenPayload)
            return (isScheduled ? "no" : "No") + " device gets it by its token: the payload is over \(limit) bytes."
                + " The name's broadcast channel brings it to its subscribers."
        }
        let screens = count == 1 ? "1 lock screen" : "\(number) lock screens"
        let also = isBroadcast ? " The name's broadcast channel brings it to all its subscribers too." : ""
        let what = compose.event == "end" ? "this end" : compose.event == "start" ? "a new card" : "this update"
        let how =
            compose.alert == nil
            ? "without an alert"
            : compose.form.has("alert_sound") ? "with an alert and a sound" : "with an alert"
        let quietly = compose.alert == nil ? " quietly" : ""
        let counted = isScheduled ? " This counts who follows now." : ""
        return "\(screens) will light\(quietly): \(what) goes to \(whom), \(how).\(also)\(counted)"
    }
}
