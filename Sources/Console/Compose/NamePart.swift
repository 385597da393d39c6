import Answers
import LiveActivity
import StrictJSON

/// The part of Compose that depends on the name: its followers, the fields of its schema, and its last content state.
struct NamePart {
    private static let nothing = "{\n  \n}"

    let shown: Values
    let fields: SchemaFields?

    /// All that the part depends on. It is made anew if this changes.
    static func subject(_ compose: ComposeForm, _ overview: NameOverview, now: Int64) -> String {
        "\(compose.event) \(compose.form.text("attributes_type") ?? "") \(overview.after(now)) \(compose.name)"
    }

    /// - Parameters:
    ///   - form: its content state is filled in, unless somebody wrote one, and it learns from what it was filled
    ///   - wrong: the field that has a mistake
    init(_ form: inout Form, _ visit: Visit, _ overview: NameOverview, wrong: String? = nil) async throws {
        let compose = ComposeForm(form, now: visit.now)
        let activity = overview.activity
        // A state that the page filled in, and that nobody changed, follows the name.
        let isFilled = !form.has("state") || form["filled"] == "yes" && form["state"] == form["state_before"]
        if isFilled {
            let last = overview.state(visit.now)
            // An end needs no state: without one the card ends as it stands.
            form["state"] = last.map { JSONLayout.lines($0) } ?? (compose.event == "end" ? "" : Self.nothing)
        }
        let fields = try await SchemaFields.find(visit, compose, known: overview.type)
        if compose.event == "start", compose.startType == nil, let type = fields?.type {
            form["attributes_type"] = type
        }
        let fresh = Basis(overview, now: visit.now)
        let known = Basis(form)
        if isFilled {
            fresh.write(&form)
            form["written_for"] = ""
        } else if let known, !known.name.isEmpty, !haveSameBytes(known.name, compose.name) {
            // The values were written for another name. The page says so until somebody decides.
            if form["written_for"].isEmpty { form["written_for"] = known.name }
            fresh.write(&form)
        } else if known == nil || Basis.warning(form, fields, overview, now: visit.now) == nil {
            fresh.write(&form)
        }
        let state = ComposeForm(form, now: visit.now).state
        let before = overview.isKnown && state != nil ? fresh.state : nil
        var shown = values([
            "state": form["state"], "filled": isFilled ? "yes" : "",
            "of": Self.subject(compose, overview, now: visit.now),
            "fields": fields?.shown(state, typed: form, wrong: wrong, before: before), "type": fields?.type,
            "startType": compose.event == "start" ? form.text("attributes_type") : nil,
            "attributesExample": fields?.attributes, "isHeld": fields?.holds(state) == true ? true : nil,
            "others": fields.flatMap { $0.others.isEmpty ? nil : $0.others.joined(separator: ", ") },
            "elsewhere": form.text("written_for").flatMap { haveSameBytes($0, compose.name) ? nil : $0 },
            "basis": (Basis.fields).map { ["name": $0, "value": form[$0]] as Values },
        ])
        if wrong == "state" { shown["wrong-state"] = true }
        if let activity {
            shown["isStart"] = compose.event == "start"
            shown["followers"] = Shown.count(activity.tokens, "follower", "followers")
            shown["broadcasts"] = activity.broadcast?.state == "live" ? true : nil
            shown["closed"] = activity.ended && compose.event != "start" ? true : nil
        } else if !compose.name.isEmpty {
            shown["unknown"] = true
        }
        if let next = overview.isNext(visit.now) {
            shown["next"] = next.shown(now: visit.now, followers: nil, undo: .zero)
        }
        (self.shown, self.fields) = (shown, fields)
    }

    /// The names that complete what is typed, with what a publisher wants to know of each.
    static func names(_ visit: Visit) async throws -> ConsoleResponse {
        let text = visit.query.text("q") ?? ""
        let own = visit.session.identity.namePrefix ?? ""
        // A credential for some names asks for these.
        let prefix = text.utf8.count >= own.utf8.count ? text : own
        var found: [ListedNameAnswer] = []
        func add(_ query: KeyValuePairs<String, String?>) async throws {
            guard found.count < mostNames else { return }
            let page: ActivitiesAnswer = try await visit.get("/api/activities", query: Form.query(query))
            for name in page.activities where !found.contains(where: { $0.name == name.name }) { found.append(name) }
        }
        try await add(["prefix": prefix, "limit": "\(mostNames)"])
        if visit.session.identity.namePrefix == nil { try await add(["contains": text, "limit": "\(mostNames)"]) }
        var options: [Values] = []
        for name in found.prefix(mostNames) {
            let activity: ActivityAnswer? = try? await visit.find("/api/activities/\(Form.encoded(name.name))")
            let state = activity?.lastContentState?.contentState.value
            let headline = state.flatMap { Card(app: "", name: "", state: $0).values["headline"] as? String }
            let parts = [
                name.ended ? "closed" : Shown.count(activity?.tokens ?? 0, "follower", "followers"), headline,
            ]
            options.append(["value": name.name, "label": parts.compactMap(\.self).joined(separator: " · ")])
        }
        return .page(visit.console.templates.render("name-options", ["names": options]))
    }

    private static let mostNames = 8
}
