import Answers
import LiveActivity
import StrictJSON

/// The fields of Compose, and the push that they make.
struct ComposeForm {
    /// A field that cannot be read, by its name in the form.
    struct Problem: Error {
        var field: String
        var message: String
    }

    static let fields = [
        "name", "event", "audience", "audience_value", "platforms", "state", "priority", "alert_title", "alert_body",
        "alert_sound", "alert", "stale_minutes", "relevance", "dismissal_minutes", "attributes_type", "attributes",
        "options",
        "send_at", "zone", "schedule", "held",
    ]
    static let audiences: [(value: String, title: String)] = [
        ("all", "Everyone"), ("tag", "A tag"), ("user", "A user"), ("device", "One device"),
        ("json", "As JSON"),
    ]

    /// The times that the API takes, in epoch ms.
    private static let times: ClosedRange<Int64> = 1_000_000_000_000...9_999_999_999_999
    var form: Form
    /// Epoch seconds from which minutes count.
    let now: Int

    init(_ form: Form, now: Int64) {
        self.form = form
        let seconds = Int(now / 1_000)
        // The question before a publish writes it. An answer a day later is a mistake.
        self.now = form.number("at", in: seconds - 86_400...seconds + 86_400) ?? seconds
    }

    var name: String { form.name() ?? "" }
    var event: String { form.text("event") ?? "update" }
    /// The attributes type that a start gives. Nil: it gives none, or the event is another one.
    var startType: String? { event == "start" ? form.text("attributes_type") : nil }
    /// The platforms that were chosen. Nil: all of the app.
    private var platforms: [Platform]? {
        form.text("platforms").map { $0.split(separator: ",").compactMap { Platform(name: String($0)) } }
    }
    /// The schedule that the form changes. Nil: it makes another push.
    var schedule: String? { form.text("schedule") }
    /// The held publish that the form changes.
    var held: (page: HeldPage, place: String)? { HeldPage.place(form.text("held")) }

    /// The time to send at, in epoch ms. Nil: now.
    func sendAt() throws(Problem) -> Int64? {
        guard let text = form.text("send_at") else { return nil }
        guard let local = TimeText.parse(text) ?? TimeText.parse("\(text):00") else {
            throw Problem(field: "send_at", message: "must be a time such as 2026-11-21T18:00")
        }
        // The clocks of the browser's zone are put forward over the time, or back.
        switch form.text("zone") {
        case "skipped":
            throw Problem(field: "send_at", message: "does not exist where you are: the clocks skip it. Take another")
        case "twice":
            throw Problem(field: "send_at", message: "happens twice where you are: the clocks go back. Take another")
        default: break
        }
        // `getTimezoneOffset`: minutes from the browser's time to UTC. Absent without a script: UTC.
        let zone = form.number("zone", in: -1_440...1_440)
        guard zone != nil || form.text("zone") == nil else {
            throw Problem(field: "send_at", message: "has a time zone that does not exist. Load the page again")
        }
        let time = local + Int64(zone ?? 0) * 60_000
        guard Self.times.contains(time) else {
            throw Problem(field: "send_at", message: "must be a time of the years 2001 to 2286")
        }
        return time
    }

    /// The precondition of a publish: the push from which the form was filled. A time to send at has none, because much
    /// may happen until then. Nil: the form was filled from nothing.
    var after: String? { form["mine"] == "yes" ? "any" : form.text("send_at") == nil ? form.text("after") : nil }

    /// The choices of platforms, and the value that is chosen. Nil: the app has one platform.
    func platformChoices(of app: Set<Platform>) -> [Values]? {
        guard app.count > 1 else { return nil }
        let all = Platform.all.filter(app.contains)
        func value(_ platforms: [Platform]) -> String { platforms.map(\.name).joined(separator: ",") }
        let choices = ([all] + all.map { [$0] }).map {
            (value: value($0), title: $0.map(Shown.platform).joined(separator: " and "))
        }
        return Options.list(choices, chosen: value(platforms ?? all))
    }

    /// Whether the push closes the name: an end for everyone, on all platforms of the app.
    func closes(_ app: Set<Platform>) -> Bool {
        event == "end" && (form.text("audience") ?? "all") == "all" && app.isSubset(of: platforms ?? Array(app))
    }

    /// The object that `POST /api/push` takes.
    /// - Parameters:
    ///   - after: the precondition. Nil: the precondition of the form, or none
    ///   - app: the platforms of the app. All that the push is for get the same content state
    func push(after: String? = nil, on app: Set<Platform> = [.ios]) throws(Problem) -> JSON {
        var activity: JSON = ["name": .string(name), "event": .string(event)]
        if let state = try object("state", "Content state") { activity.append("content_state", state) }
        if form.text("priority") != nil {
            guard let priority = form.number("priority", in: 0...100) else {
                throw Problem(field: "priority", message: "must be 5 or 10")
            }
            activity.append("priority", .integer(priority))
        }
        if let alert = try object("alert", "Alert") ?? alert { activity.append("alert", alert) }
        let base = try sendAt().map { Int($0 / 1_000) } ?? now
        if let minutes = try minutes("stale_minutes") { activity.append("stale_date", .integer(base + minutes * 60)) }
        if event == "end", let minutes = try minutes("dismissal_minutes") {
            activity.append("dismissal_date", .integer(minutes == 0 ? 0 : base + minutes * 60))
        }
        if let text = form.text("relevance") {
            guard let number = try? JSONDocument(text).root, number.kind == .number else {
                throw Problem(field: "relevance", message: "must be a number")
            }
            activity.append("relevance_score", JSON(number))
        }
        if event == "start" {
            activity.append("attributes_type", .string(form.text("attributes_type") ?? ""))
            activity.append("attributes", try object("attributes", "Attributes") ?? [:])
        }
        // On other platforms the app's handler has the name of the attributes type.
        let (types, notification) = PushBlocks.json(
            activity, type: event == "start" ? form.text("attributes_type") ?? "" : nil,
            on: platforms.map(Set.init) ?? app)
        return .fields([
            "audience": try audience(), "device_types": types, "notification": notification,
            "options": try options(after: after),
        ])
    }

    private func options(after: String?) throws(Problem) -> JSON? {
        let written = try object("options", "Options")
        guard let after else { return written }
        let members = written.flatMap { try? JSONDocument($0.bytes).root.object().members } ?? []
        guard !members.contains(where: { $0.key == "after" }) else { return written }
        return .object(members.map { JSON.Member($0.key, JSON($0.value)) } + [JSON.Member("after", .string(after))])
    }

    /// The `alert` of the push. Nil: an update without an alert. An alert as JSON stands in place of title and body.
    var alert: JSON? {
        if let written = form.text("alert") { return (try? JSONDocument(written).root).map { JSON($0) } }
        let (title, body) = (form.text("alert_title"), form.text("alert_body"))
        guard title != nil || body != nil else { return nil }
        return .fields([
            "title": title.map(JSON.string), "body": body.map(JSON.string),
            "sound": form.has("alert_sound") ? "default" : nil,
        ])
    }

    func audience() throws(Problem) -> JSON {
        let value = form.text("audience_value") ?? ""
        let choice = form.text("audience") ?? "all"
        guard choice != "all" else { return "all" }
        guard !value.isEmpty else {
            throw Problem(field: "audience_value", message: "is required for this audience")
        }
        switch choice {
        case "tag":
            let tag = Tag(value)
            return .fields(["tag": .string(tag.name), "group": tag.group.map(JSON.string)])
        case "user": return ["named_user": .string(value)]
        case "device": return ["channel": .string(value)]
        default:
            do throws(JSONError) {
                return JSON(try JSONDocument(value).root)
            } catch {
                throw Problem(field: "audience_value", message: "is no JSON: \(error.message)")
            }
        }
    }

    /// The JSON object in a field. Nil if the field is empty.
    private func object(_ field: String, _ title: String) throws(Problem) -> JSON? {
        guard let text = form.text(field) else { return nil }
        do throws(JSONError) {
            let value = try JSONDocument(text).root
            _ = try value.object()
            return JSON(value)
        } catch {
            let place = "line \(error.location.line), column \(error.location.column)"
            throw Problem(field: field, message: "\(error.message) (\(place))")
        }
    }

    private func minutes(_ field: String) throws(Problem) -> Int? {
        if form.text(field) == nil { return nil }
        if let number = form.number(field, in: 0...1_000_000) { return number }
        throw Problem(field: field, message: "must be a whole number of minutes")
    }

    /// The content state, as far as it can be read.
    var state: JSONValue? { form.text("state").flatMap { try? JSONDocument($0).root } }

    /// The field to which a path of the API's error belongs.
    static func field(ofPath path: String?) -> String? {
        guard let path else { return nil }
        if path.hasPrefix("audience") { return "audience_value" }
        if path.hasPrefix("options") { return "options" }
        if path.hasPrefix("device_types") { return "platforms" }
        let last = path.split(separator: ".").dropFirst(3).first.map(String.init) ?? path
        let key = last.prefix { $0 != "[" }
        let known: [Substring: String] = [
            "content_state": "state", "name": "name", "event": "event", "priority": "priority", "alert": "alert_title",
            "stale_date": "stale_minutes", "relevance_score": "relevance", "dismissal_date": "dismissal_minutes",
            "attributes_type": "attributes_type", "attributes": "attributes", "schedule": "send_at",
        ]
        return known[key]
    }
}
