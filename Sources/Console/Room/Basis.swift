import Answers
import LiveActivity
import StrictJSON

/// The name from which a form was filled, with its newest push and its state then. Somebody else may publish while one
/// writes.
struct Basis {
    /// The fields of the form that hold it.
    static let fields = ["after", "base", "base_name", "written_for"]

    var name: String
    /// A push id, or `none`.
    var after: String
    var state: StateText

    /// Nil: the form was filled from nothing yet.
    init?(_ form: Form) {
        guard let after = form.text("after"), let state = StateText(form["base"]) else { return nil }
        (name, self.after, self.state) = (form["base_name"], after, state)
    }

    init(_ overview: NameOverview, now: Int64) {
        (name, after) = (overview.name, overview.after(now))
        state = StateText(overview.state(now))
    }

    func write(_ form: inout Form) {
        (form["after"], form["base"], form["base_name"]) = (after, state.text, name)
    }

    /// A member that is another one on the cards by now, and that the form would change back.
    struct Moved {
        var key: String
        var theirs, mine: String?
    }

    /// The members that somebody else changed since, as far as the form says something else.
    func moved(_ mine: StateText, _ overview: NameOverview, now: Int64) -> [Moved] {
        guard overview.after(now) != after else { return [] }
        let theirs = StateText(overview.state(now))
        var keys = theirs.members.map(\.key)
        for (key, _) in state.members where !keys.contains(key) { keys.append(key) }
        return keys.compactMap { key in
            guard theirs[key] != state[key], theirs[key] != mine[key] else { return nil }
            return Moved(key: key, theirs: theirs[key], mine: mine[key])
        }
    }

    /// The present state with the members that the form changed and nobody else did.
    func merged(_ mine: StateText, _ overview: NameOverview, now: Int64) -> StateText {
        let theirs = StateText(overview.state(now))
        var merged = theirs
        for key in mine.members.map(\.key) + state.members.map(\.key)
        where mine[key] != state[key] && theirs[key] == state[key] {
            merged[key] = mine[key]
        }
        return merged
    }
}

extension Basis {
    /// Does what a button about a change says: `theirs` takes all that others changed, `take:KEY` one member of it,
    /// `mine` keeps the form, and `fill` takes the state of the name in place of the form's.
    /// - Returns: false if it is none of these buttons
    static func press(_ button: String, _ form: inout Form, _ overview: NameOverview, now: Int64) -> Bool {
        let mine = StateText(form["state"]) ?? StateText(nil)
        let fresh = Basis(overview, now: now)
        switch button {
        case "theirs": form["state"] = (Basis(form) ?? fresh).merged(mine, overview, now: now).text
        case "fill": form["state"] = fresh.state.text
        case "mine": form["mine"] = "yes"
        default:
            guard let key = button.rest(behind: "take:") else { return false }
            form["mine"] = ""
            var (state, basis) = (mine, Basis(form) ?? fresh)
            (state[key], basis.state[key]) = (fresh.state[key], fresh.state[key])
            form["state"] = state.text
            // The other members that moved are still to be decided about.
            basis.write(&form)
            return true
        }
        if button != "mine" { form["mine"] = "" }
        fresh.write(&form)
        form["written_for"] = ""
        return true
    }

    /// The words of the page about a change. Nil: nothing of the change matters to this form.
    static func warning(_ form: Form, _ fields: SchemaFields?, _ overview: NameOverview, now: Int64) -> Values? {
        guard let basis = Basis(form), haveSameBytes(basis.name, overview.name), form["mine"] != "yes" else {
            return nil
        }
        let mine = StateText(form["state"]) ?? StateText(nil)
        let moved = basis.moved(mine, overview, now: now)
        let author = overview.author(now)
        // An end closes the name without a member's change.
        guard !moved.isEmpty || basis.after != overview.after(now) && author.event == "end" else { return nil }
        return sealed([
            "who": author.who ?? "somebody", "time": Shown.time(author.at, now: now), "isEnd": author.event == "end",
            "waits": overview.isNext(now) == nil ? nil : true,
            "headline": overview.state(now).flatMap(Card.headline), "several": moved.count > 1 ? true : nil,
            "members": moved.map {
                [
                    "key": $0.key, "title": fields?.title($0.key) ?? $0.key, "theirs": StateText.shown($0.theirs),
                    "mine": StateText.shown($0.mine),
                ] as Values
            },
        ])
    }

    /// The same for a form whose fields nobody has read. They are read only if the name had a push meanwhile.
    static func warning(_ form: Form, _ overview: NameOverview, _ visit: Visit) async throws -> Values? {
        guard let basis = Basis(form), basis.after != overview.after(visit.now) else { return nil }
        let compose = ComposeForm(form, now: visit.now)
        let fields = try await SchemaFields.find(visit, compose, known: overview.type)
        return warning(form, fields, overview, now: visit.now)
    }
}
