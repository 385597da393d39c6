import Answers
import LiveActivity

/// Says in a sentence whom a push would reach, from the API's answer to a dry run.
struct ReachText {
    /// How many devices the push would reach. Nil: not counted.
    let count: Int?
    let isComplete: Bool
    let isBroadcast: Bool
    let isStart: Bool
    /// The push is too large for tokens, and fits into a broadcast channel alone.
    let isTooLarge: Bool
    /// `20 on iOS, 30 on Android`. Nil: the push is for one platform, or was not counted.
    private let parts: String?

    init(_ push: PreviewAnswer) {
        isStart = push.startTokens != nil
        isTooLarge = push.payloadBytes > Publish.maximumTokenPayload
        count = isTooLarge ? 0 : push.startTokens ?? push.tokens
        isComplete = push.complete == nil
        isBroadcast = (push.broadcastChannels ?? 0) > 0
        let counts = Platform.all.compactMap { platform in
            push.platforms?.byPlatform[platform]?.tokens.map { "\(Shown.count($0)) on \(Shown.platform(platform))" }
        }
        parts = counts.count > 1 ? counts.joined(separator: ", ") : nil
    }

    var number: String { count.map { (isComplete ? "" : "over ") + Shown.count($0) } ?? "an unknown number of" }

    private func number(_ one: String, _ many: String) -> String { count == 1 ? "1 \(one)" : "\(number) \(many)" }

    /// The title of the question and its button: what will happen, with the number.
    func words(_ compose: ComposeForm, isScheduled: Bool, isChange: Bool) -> (title: String, button: String) {
        if isChange { return ("Change the schedule?", "Change the schedule") }
        let event = compose.event
        if isScheduled { return ("Schedule this \(event)?", "Schedule the \(event)") }
        guard let count else { return ("Publish this \(event)?", "Publish the \(event)") }
        guard count > 0 else {
            return isBroadcast
                ? ("Publish to the broadcast channel?", "Publish to the channel")
                : ("Publish to nobody?", "Publish all the same")
        }
        let cards = number("card", "cards")
        switch event {
        case "end": return ("End \(cards)?", "End \(cards)")
        case "start": return ("Start \(cards)?", "Start \(cards)")
        default: return ("Publish to \(number("device", "devices"))?", "Publish to \(number)")
        }
    }

    /// - Parameters:
    ///   - isInside: words stand before it
    ///   - isScheduled: it goes out later, and others may follow then
    func sentence(_ compose: ComposeForm, isInside: Bool, isScheduled: Bool) -> String {
        let name = compose.name
        let audience = compose.form.text("audience") ?? "all"
        let no = isInside ? "no" : "No"
        let whom =
            isStart
            ? "the devices with a start token of \(compose.form.text("attributes_type") ?? "its type")"
            : audience == "all" ? "every device that follows \(name)" : "the chosen devices that follow \(name)"
        if count == 0, !isBroadcast {
            return "\(no) lock screen will light: "
                + (isStart ? "no device has a start token of that type." : "nobody in this audience follows \(name).")
        }
        if isTooLarge {
            let limit = Shown.count(Publish.maximumTokenPayload)
            return "\(no) device gets it by its token: the payload is over \(limit) bytes."
                + " The name's broadcast channel brings it to its subscribers."
        }
        let each = parts.map { " (\($0))" } ?? ""
        let also = isBroadcast ? " The name's broadcast channel brings it to all its subscribers too." : ""
        let counted =
            !isScheduled ? "" : isStart ? " This counts the start tokens of now." : " This counts who follows now."
        let how =
            compose.alert == nil
            ? "without an alert"
            : compose.form.has("alert_sound") ? "with an alert and a sound" : "with an alert"
        if compose.event == "end" {
            return
                "\(number("card", "cards"))\(each) will end, which cannot be taken back: this end goes to \(whom), "
                + "\(how).\(also)\(counted)"
        }
        let screens = number("lock screen", "lock screens")
        let what = compose.event == "start" ? "a new card" : "this update"
        let quietly = compose.alert == nil ? " quietly" : ""
        return "\(screens)\(each) will light\(quietly): \(what) goes to \(whom), \(how).\(also)\(counted)"
    }
}
