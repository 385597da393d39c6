import LiveActivity

/// One decision about several entries of a list: the entries with a checked box, or all that the list's filter picks.
///
/// The page of the list has the boxes and the buttons. The question says how many entries it is about. The answer says
/// how many are done, which are not, and why.
struct Bulk {
    /// A button below the list.
    struct Button {
        /// The word of the form's field `do`.
        let word: String
        let title: String
        var isDanger = false
    }

    /// The words of the question and of the answer.
    struct Words {
        /// `Drop`
        let verb: String
        /// `dropped`
        let done: String
        let one: String
        let many: String
        /// The meaning for each of them.
        let sentence: String
        var isSafe = false
    }

    /// The most entries of one decision. The form has all of them.
    static let most = 1_000
    private static let atOnce = 8
    /// A proxy waits for an answer for 30 seconds or so.
    static let patience: Duration = .seconds(20)

    let visit: Visit
    let back: String

    /// The boxes and buttons of a list's page. Nil: it shows no entry, or its reader may not decide.
    /// - Parameters:
    ///   - names: of the fields that filter the list
    ///   - hasMore: there are entries on other pages
    static func shown(
        _ visit: Visit, _ buttons: [Button], of rows: [Values], keeping names: [String], hasMore: Bool
    ) -> Values? {
        guard !rows.isEmpty, visit.session.identity.mayOpen(visit.request.path, "POST") else { return nil }
        let kept = visit.query.fields.filter { !["choose", "notice"].contains($0.name) }
        let isChosen = isChosen(visit) != nil
        let fields = kept + (isChosen ? [] : [(name: "choose", value: "all")])
        let query = fields.map { "\($0.name)=\(Form.encoded($0.value))" }.joined(separator: "&")
        return values([
            "action": visit.request.path, "chooseAll": visit.request.path + (query.isEmpty ? "" : "?\(query)"),
            "isChosen": isChosen ? true : nil, "hasMore": hasMore ? true : nil,
            "filter": names.compactMap { name in
                visit.query.text(name).map { ["field": name, "text": $0] as Values }
            },
            "buttons": buttons.map {
                values(["word": $0.word, "title": $0.title, "danger": $0.isDanger ? true : nil])
            },
        ])
    }

    /// Whether the page was asked for with all of its boxes checked. Nil: it was not.
    static func isChosen(_ visit: Visit) -> Bool? { visit.query["choose"] == "all" ? true : nil }

    /// Asks, does it, and tells.
    /// - Parameters:
    ///   - all: the entries that the filter picks, if these are wanted
    ///   - label: an entry in words, and the address of its page
    func run(
        _ words: Words, all: () async throws -> [String], label: (String) -> (text: String, path: String?),
        _ act: @escaping @Sendable (String) async throws -> Void
    ) async throws -> ConsoleResponse {
        let isConfirmed = visit.form["confirmed"] == "yes"
        let wanted = !isConfirmed && visit.form["every"] == "yes" ? try await all() : visit.form.values("entry")
        let entries = Array(wanted.prefix(Self.most))
        guard !entries.isEmpty else { return visit.redirect(back, .nothingChosen) }
        var asked = visit.form.without(["entry", "every"])
        for entry in entries { asked.add("entry", entry) }
        let count = Shown.count(entries.count, words.one, words.many)
        let rest = wanted.count > entries.count ? " There are more: do it again for the others." : ""
        if let page = visit.confirmation(
            "\(words.verb) \(count)?", words.sentence + rest, button: "\(words.verb) \(count)", back: back,
            isSafe: words.isSafe, asked: asked)
        {
            return page
        }
        let failures = await Self.each(entries, act)
        let done = entries.count - failures.count
        return visit.page(
            "bulk-done", "\(words.verb) \(count)",
            values([
                "title": failures.isEmpty
                    ? "\(count) \(words.done)"
                    : "\(Shown.count(done)) of \(count) \(words.done)",
                "isAll": failures.isEmpty ? true : nil, "back": back,
                "failures": failures.map { entry, why in
                    let label = label(entry)
                    return values(["text": label.text, "path": label.path, "why": Shown.plain(why)])
                }, "hasFailures": failures.isEmpty ? nil : true,
            ]))
    }

    /// - Returns: the entries with which it did not go well, in order, and why.
    private static func each(
        _ entries: [String], _ act: @escaping @Sendable (String) async throws -> Void
    ) async -> [(entry: String, why: String)] {
        let end = ContinuousClock.now + patience
        var why: [Int: String] = [:]
        await withTaskGroup(of: (Int, String?).self) { group in
            for (index, entry) in entries.enumerated() {
                if index >= atOnce, let (number, text) = await group.next() { why[number] = text }
                group.addTask {
                    guard ContinuousClock.now < end else {
                        return (index, "It was not tried: the others took too long.")
                    }
                    do {
                        try await act(entry)
                        return (index, nil)
                    } catch let failure as ConsoleFailure {
                        return (index, failure.message)
                    } catch {
                        return (index, "An internal error occurred.")
                    }
                }
            }
            for await (number, text) in group { why[number] = text }
        }
        return entries.enumerated().compactMap { index, entry in why[index].map { (entry, $0) } }
    }
}
