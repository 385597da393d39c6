import StrictJSON

/// A drawing of what a content state says, as a Lock Screen card and a Dynamic Island. The app draws the real one; this
/// shows which values it gets.
struct Card {
    /// The member of a content state by which devices name the push in receipts.
    static let pushMark = "lamplighter"
    /// Members that say most about an activity, in this order.
    private static let headlines = ["status", "headline", "title", "phase", "state", "message", "text", "score"]
    private static let progresses = ["progress", "fraction", "percent", "percentage"]
    private static let mostDetails = 6
    /// The colours of an app's icon.
    private static let hues = 6

    let app: String
    let name: String
    let state: JSONValue?
    var alert: JSONObject?
    var isEnd = false
    /// Draws the card in place of the console.
    var drawing: CardDrawing?
    var type: String?
    var attributes: JSONObject?
    /// Epoch ms, for timers.
    var now: Int64 = 0

    private struct Part {
        var key: String
        var text: String
    }

    /// The first words of a state, such as the score. Nil: it has none.
    static func headline(_ state: JSONValue) -> String? {
        guard let members = try? state.object().members, !members.isEmpty else { return nil }
        return Card(app: "", name: "", state: state).values["headline"] as? String
    }

    static func alertTitle(_ alert: JSONObject) -> String? { alertText(alert["title"]) ?? alertText(alert["body"]) }

    /// The state without its push mark, because each push has a mark of its own.
    static func unmarked(_ state: JSONValue) -> JSONValue {
        guard let members = try? state.object().members, members.contains(where: { $0.key == pushMark }) else {
            return state
        }
        let others = members.filter { $0.key != pushMark }.map { JSON.Member($0.key, JSON($0.value)) }
        return (try? JSONDocument(JSON.object(others).bytes).root) ?? state
    }

    var values: Values {
        let members = (try? state?.object())?.members ?? []
        var parts = members.compactMap { key, value in Self.text(value).map { Part(key: key, text: $0) } }
        parts.removeAll { Self.progresses.contains($0.key) || $0.key == Self.pushMark }
        let teams = Self.teams(members)
        if teams != nil { parts.removeAll { ["home", "away", "score"].contains($0.key) } }
        let headline: Part? =
            teams.map { Part(key: "score", text: $0) }
            ?? Self.headlines.lazy.compactMap { key in parts.first { $0.key == key } }.first ?? parts.first
        if teams == nil, let headline, let place = parts.firstIndex(where: { $0.key == headline.key }) {
            parts.remove(at: place)
        }
        let details = parts.prefix(Self.mostDetails)
        let nothing = state != nil ? "An empty content state" : isEnd ? "Ends as it stands" : "No content state"
        // A value that the card lacks is said too: the page around it may have one of the same name.
        var shown: Values = [
            "progress": false, "alert": false, "drawing": false, "isEnd": isEnd, "app": app,
            "name": name.isEmpty ? "the name" : name, "headline": headline?.text ?? nothing,
            "details": details.map { ["key": Self.label($0.key), "text": $0.text] as Values },
            "hue": app.utf8.reduce(0) { ($0 + Int($1)) % Self.hues },
            "leading": (headline?.text ?? "·").short(12), "trailing": (details.first?.text ?? "").short(9),
        ]
        if parts.count > details.count { shown["more"] = parts.count - details.count }
        if let progress = Self.progress(members) { shown["progress"] = progress }
        // An end without a state leaves the card as it was.
        if let drawing, state != nil { shown["drawing"] = drawing.markup(self) }
        if let alert, let title = Self.alertText(alert["title"]) {
            shown["alert"] = ["title": title, "body": Self.alertText(alert["body"]) ?? ""] as Values
        }
        return shown
    }

    /// A value as the card shows it. Nil for null. Objects and arrays are shown by their size.
    private static func text(_ value: JSONValue) -> String? {
        switch value.kind {
        case .null: nil
        case .string: (try? value.string()).map { $0.short(60) }
        case .bool: (try? value.bool()) == true ? "yes" : "no"
        case .number: value.text
        case .array: Shown.count((try? value.array().count) ?? 0, "entry", "entries")
        case .object: Shown.count((try? value.object().members.count) ?? 0, "value", "values")
        }
    }

    private static func teams(_ members: [(key: String, value: JSONValue)]) -> String? {
        func score(_ key: String) -> String? { members.first { $0.key == key && $0.value.kind == .number }?.value.text }
        guard let home = score("home"), let away = score("away") else { return nil }
        return "\(home) : \(away)"
    }

    /// 0 to 100.
    private static func progress(_ members: [(key: String, value: JSONValue)]) -> Int? {
        for (key, value) in members where progresses.contains(key) {
            guard let number = try? value.double() else { continue }
            let percent = key.hasPrefix("percent") || number > 1 ? number : number * 100
            return Int(min(100, max(0, percent)))
        }
        return nil
    }

    private static func alertText(_ value: JSONValue?) -> String? {
        guard let value else { return nil }
        if let text = try? value.string() { return text.isEmpty ? nil : text }
        return (try? value.object()).flatMap { $0.text("loc-key") }
    }

    /// `minutesLeft` and `minutes_left` become `minutes left`.
    private static func label(_ key: String) -> String {
        var label = ""
        for character in key {
            if character == "_" || character == "-" {
                label.append(" ")
            } else if character.isUppercase, let last = label.last, last.isLowercase {
                label += " \(character.lowercased())"
            } else {
                label.append(character)
            }
        }
        return label
    }
}

extension String {
    /// At most `count` characters, with an ellipsis.
    fileprivate func short(_ count: Int) -> String { self.count <= count ? self : prefix(count - 1) + "…" }
}
