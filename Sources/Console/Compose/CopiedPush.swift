import Answers
import LiveActivity
import StrictJSON

/// The fields of a push that was sent or that waits for its time, so that Compose can send it again or change it.
struct CopiedPush {
    var form = Form()
    /// Parts of the push that the form does not have, in words.
    private(set) var missing: [String] = []
    /// Sentences about what stands in the form in place of the push.
    private(set) var notes: [String] = []
    /// Members of the contents that platforms have of their own, which the form does not have.
    private var lost: [String] = []
    /// Warns of the name's state, which is what iOS got, in a form for other platforms. Nil: the form is for iOS alone,
    /// or the app has one platform.
    private var warning: String?

    /// A push that was sent. Its payload has no options.
    init(_ ledger: LedgerAnswer, _ content: ContentAnswer?) {
        (form["name"], form["event"], form["priority"]) = (ledger.name, ledger.event, "\(ledger.priority)")
        missing = ["options, such as an expiry"]
        guard let content, let aps = content.payload.object?.object("aps"),
            let posted = Self.posted(ledger, aps, content)
        else {
            missing = Self.everything
            return
        }
        copy(audience: content.audience.value)
        form["platforms"] = content.deviceTypes?.joined(separator: ",") ?? ""
        copy(posted.activity, at: Self.seconds(aps["timestamp"]) ?? 0)
        note(posted)
        let own = posted.platforms.filter(\.hasOwnContent)
        let isShared = own.count < posted.platforms.count
        guard !own.isEmpty, isShared || content.deviceTypes != nil else { return }
        let titles = own.map(Shown.platform).joined(separator: " and ")
        let warning = "The content state is what iOS got. \(titles) may have had another one, and gets this one now."
        self.warning = warning
        if posted.lost.contains(where: { $0.key == "content_state" }) { notes.append(warning) }
    }

    /// The push in the form in which it was posted, but for its options.
    private static func posted(_ ledger: LedgerAnswer, _ aps: JSONObject, _ content: ContentAnswer) -> PostedPush? {
        let activity =
            [JSON.Member("name", .string(ledger.name)), JSON.Member("event", .string(ledger.event))]
            + aps.members.filter { !ofPayload.contains($0.key) }
            .map { JSON.Member($0.key.replacing("-", with: "_"), JSON($0.value)) }
        let own = content.notification?.object
        let blocks = Platform.all.compactMap { platform -> JSON.Member? in
            if let block = own?.object(platform.name), platform.hasOwnContent {
                return JSON.Member(platform.name, .object(block.members.map { JSON.Member($0.key, JSON($0.value)) }))
            }
            guard !platform.hasOwnContent, own.map({ $0[platform.name] != nil }) ?? true else { return nil }
            return JSON.Member(platform.name, .fields([PushBlocks.key(platform): .object(activity)]))
        }
        let push = JSON.fields(["notification": .object(blocks)])
        return (try? JSONDocument(push.bytes).root.object()).flatMap(PostedPush.init)
    }

    /// A push that waits for its time.
    init(_ schedule: ScheduleAnswer) {
        self.init(schedule.push.object, at: TimeText.parse(schedule.schedule.scheduledTime), now: 0)
    }

    /// A push that waits.
    /// - Parameters:
    ///   - body: as it was posted
    ///   - due: when it goes out, epoch ms. Nil: as soon as it may.
    init(_ body: JSONObject?, at due: Int64?, now: Int64) {
        guard let body, let posted = PostedPush(body) else {
            missing = Self.everything
            return
        }
        let activity = posted.activity
        (form["name"], form["event"]) = (activity.text("name") ?? "", activity.text("event") ?? "update")
        form["priority"] = activity["priority"]?.text ?? ""
        form["platforms"] = posted.platforms.map(\.name).joined(separator: ",")
        form["send_at"] = due.map(TimeText.plainText) ?? ""
        copy(audience: body["audience"])
        if let options = body["options"] { form["options"] = JSONLayout.lines(options) }
        copy(activity, at: Int((due ?? now) / 1_000))
        note(posted)
    }

    /// Takes the condition out of the options, because a form has one of its own: the push from which it was filled. A
    /// push with a condition that holds no more is compared with what the cards show now, value by value.
    mutating func takeCondition() {
        guard let options = try? JSONDocument(form["options"]).root.object(), let after = options.text("after") else {
            return
        }
        let others = options.members.filter { $0.key != "after" }.map { JSON.Member($0.key, JSON($0.value)) }
        form["options"] = others.isEmpty ? "" : Self.lines(JSON.object(others)) ?? ""
        guard after != "any" else { return }
        (form["after"], form["base"], form["base_name"]) = (after, form["state"], form["name"])
    }

    /// Makes it the present state of the name for the devices that a dead letter keeps. The push's own state is old by
    /// now, so Compose fills in the name's last state where no state is copied. A push that was stopped did not give
    /// its state to the name. So the name's last push keeps its own state.
    /// - Parameter channels: the devices that the push did not reach, as far as they are kept
    mutating func bringUpToDate(
        for letter: DeadLetterAnswer, _ name: ActivityAnswer?, _ channels: [UnlitChannelAnswer]
    ) {
        let event = form["event"]
        let isLast = name?.lastPushID == letter.pushID && form.has("state")
        let kept =
            ["name", "event", "priority", "audience", "audience_value", "platforms", "attributes_type", "attributes"]
            + (isLast ? ["state"] : [])
        form = form.without(Set(form.fields.map(\.name)).subtracting(kept))
        form["alert_sound"] = "on"
        missing = lost
        if !isLast {
            let isOfIOS = name?.lastContentState.map { $0.deviceTypes?.contains(Platform.ios.name) ?? true } ?? false
            notes = isOfIOS ? [warning].compactMap(\.self) : []
        }
        if isLast {
            notes.append("It is the name's last push, so its state is the present one.")
        } else if name?.lastContentState == nil {
            notes.append("Nobody knows the name's present state any more: write it.")
        }
        if event == "update", name?.ended == true {
            form["event"] = "end"
            notes.append("The name has ended since, so this ends the cards that are left.")
        } else if event == "start", name?.ended == true {
            notes.append("The name has ended since: a start opens it again.")
        }
        let devices = channels.filter { $0.outcome == Self.failed }.map(\.channelID)
        let count = Shown.count(letter.tokens, "device", "devices")
        guard (1...Audience.maximumLeaves).contains(devices.count), devices.count >= letter.kept else {
            let words = "This goes to all that the push was for."
            notes.append("\(words) Compose cannot name the \(count) that it gave up alone.")
            return
        }
        form["audience"] = devices.count == 1 ? "device" : "json"
        let list = JSON.fields(["channel": .array(devices.map(JSON.string))])
        form["audience_value"] = devices.count == 1 ? devices[0] : list.text
        if devices.count < letter.tokens {
            let kept = Shown.count(devices.count)
            notes.append("The push gave up \(count). Only the \(kept) whose ids are kept are the audience.")
        }
    }

    private static let failed = "failed"
    private static let everything = ["audience", "content", "options"]
    private static let members = [
        "name", "event", "priority", "content_state", "alert", "stale_date", "dismissal_date", "relevance_score",
        "attributes_type", "attributes",
    ]
    /// Members of a payload that the gateway writes by itself, or that are written once already.
    private static let ofPayload = ["timestamp", "event", "input-push-channel", "input-push-token"]

    /// - Parameter sent: when the push goes out, epoch seconds: Compose counts the minutes of dates from there
    private mutating func copy(_ activity: JSONObject, at sent: Int) {
        if let state = activity["content_state"] { form["state"] = JSONLayout.lines(Card.unmarked(state)) }
        if let alert = activity["alert"] { copy(alert: alert) }
        for (field, member) in [("stale_minutes", "stale_date"), ("dismissal_minutes", "dismissal_date")] {
            guard let date = Self.seconds(activity[member]) else { continue }
            // A date in the past means "at once", as 0 does.
            form[field] = "\(max(0, (date - sent + 59) / 60))"
        }
        form["relevance"] = activity["relevance_score"]?.text ?? ""
        form["attributes_type"] = activity.text("attributes_type") ?? ""
        if let attributes = activity["attributes"] { form["attributes"] = JSONLayout.lines(attributes) }
    }

    private mutating func copy(audience: JSONValue?) {
        guard let audience else { return }
        let object = try? audience.object()
        if let object, object.members.count == 1, let device = AudienceText.device(object) {
            (form["audience"], form["audience_value"]) = ("device", device)
            return
        }
        let choices: [(String, String?)] = [
            ("all", ""), ("tag", object?.text("tag")),
            ("tag", object.flatMap { object in object.text("group").map { "\($0):\(object.text("tag") ?? "")" } }),
            ("user", object?.text("named_user")),
        ]
        for (choice, value) in choices {
            guard let value else { continue }
            (form["audience"], form["audience_value"]) = (choice, value)
            // Only a choice that makes the same audience: a tag may hold the colon that ends a group.
            if Self.lines(try? ComposeForm(form, now: 0).audience()) == JSONLayout.lines(audience) { return }
        }
        (form["audience"], form["audience_value"]) = ("json", JSON(audience).text)
    }

    private mutating func copy(alert: JSONValue) {
        let object = try? alert.object()
        (form["alert_title"], form["alert_body"]) = (object?.text("title") ?? "", object?.text("body") ?? "")
        if object?["sound"] != nil { form["alert_sound"] = "on" }
        let lines = JSONLayout.lines(alert)
        if Self.lines(ComposeForm(form, now: 0).alert) != lines { form["alert"] = lines }
    }

    private static func lines(_ value: JSON?) -> String? {
        value.flatMap { try? JSONDocument($0.bytes).root }.map { JSONLayout.lines($0) }
    }

    /// Names the members that the form does not have.
    private mutating func note(_ posted: PostedPush) {
        missing += posted.activity.members.map(\.key).filter { !Self.members.contains($0) }
        lost = posted.lost.map { "\($0.key) for \(Shown.platform($0.platform))" }
        missing += lost
    }

    /// Epoch seconds of a number or of a time in ISO 8601.
    private static func seconds(_ value: JSONValue?) -> Int? {
        guard let value else { return nil }
        if let number = try? value.integer() { return Int(exactly: number) }
        return (try? value.string()).flatMap { TimeText.parse($0) }.map { Int($0 / 1_000) }
    }
}
