import Answers
import LiveActivity
import StrictJSON

/// Devices that pushes gave up, as dead letters.
enum DeadPage {
    private static let filters = ["name", "from", "to", "zone"]

    static func show(_ visit: Visit) async throws -> ConsoleResponse {
        let (days, wanted) = (DayRange(visit.query), visit.query.name())
        let file = try await Export.file(visit, "/api/dead", "dead", columns: DeadLetterAnswer.memberNames) { letter in
            days.contains(letter.text("at") ?? "") && (wanted == nil || letter.text("name") == wanted)
        }
        if let file { return file }
        let first: DeadLettersAnswer = try await visit.get("/api/dead", query: "limit=1")
        let page = try await list(visit, after: visit.query.text("after"), limit: 50)
        let replaced = Replaced(visit)
        var isReplaced: Set<String> = []
        for letter in page.rows where try await replaced.isReplaced(letter) { isReplaced.insert(letter.pushID) }
        let words = await SaidPush.words(page.rows.map(\.pushID), visit)
        let rows = page.rows.map { letter -> Values in
            let (id, name) = (letter.pushID, letter.name)
            let reasons = letter.reasons.sorted { $0.key < $1.key }.map { "\($0.key): \(Shown.count($0.value))" }
            // If it is the only reason, the list of reasons shows it already.
            let stopped = letter.stopped.flatMap { Array(letter.reasons.keys) == [$0] ? nil : $0 }
            return values([
                "id": id, "entry": id, "path": "/console/pushes/\(id)", "name": name,
                "namePath": RoomPage.path(name), "tokens": Shown.count(letter.tokens), "said": words[id],
                "kept": Shown.count(letter.kept), "canRetry": letter.kept > 0 && !isReplaced.contains(id) ? true : nil,
                "replaced": isReplaced.contains(id) ? true : nil, "stopped": stopped,
                "reasons": reasons.joined(separator: ", "), "at": Shown.time(letter.at, now: visit.now),
                "chosen": Bulk.isChosen(visit),
            ])
        }
        let bulk = Bulk.shown(
            visit,
            [
                .init(word: "retry", title: "Retry the chosen"),
                .init(word: "drop", title: "Drop the chosen", isDanger: true),
            ] + (isReplaced.isEmpty ? [] : [.init(word: "drop-replaced", title: "Drop all replaced", isDanger: true)]),
            of: rows, keeping: filters, hasMore: page.next != nil)
        return visit.page(
            "dead", "Dead letters",
            values([
                "letters": rows, "empty": rows.isEmpty ? true : nil, "isPart": page.next == nil ? nil : true,
                "total": Shown.count(first.total, "push", "pushes"), "name": wanted ?? "",
                "range": days.shown, "bulk": bulk,
                "pager": Pager.values(visit, next: page.next, keeping: filters),
            ]))
    }

    private static func list(
        _ visit: Visit, after position: String?, limit: Int
    ) async throws -> (rows: [DeadLetterAnswer], next: String?) {
        let source = visit.form.has("do") ? visit.form : visit.query
        let (days, wanted) = (DayRange(source), source.name())
        return try await visit.list(
            "/api/dead", \DeadLettersAnswer.dead, next: \.next, [:], limit: limit, after: position,
            where: { days.contains($0.at) && (wanted == nil || $0.name == wanted) })
    }

    /// Retries or drops the dead letters that were chosen.
    static func decide(_ visit: Visit) async throws -> ConsoleResponse {
        let isRetry = visit.form["do"] == "retry"
        let words =
            isRetry
            ? Bulk.Words(
                verb: "Retry", done: "retried", one: "dead letter", many: "dead letters",
                sentence: "The devices that are kept get these pushes again, with their present tokens.", isSafe: true)
            : Bulk.Words(
                verb: "Drop", done: "dropped", one: "dead letter", many: "dead letters",
                sentence: "The lists of devices that these pushes gave up are deleted. They cannot be retried then.")
        var visit = visit
        // The button is about all letters of the filter, without boxes.
        let isOfReplaced = visit.form["do"] == "drop-replaced"
        if isOfReplaced { visit.form["every"] = "yes" }
        let replaced = Replaced(visit)
        return try await Bulk(visit: visit, back: "/console/dead").run(words) { [visit] in
            let letters = try await visit.all { try await list(visit, after: $0, limit: 1_000) }
            guard isOfReplaced else { return letters.map(\.pushID) }
            var found: [String] = []
            for letter in letters where try await replaced.isReplaced(letter) { found.append(letter.pushID) }
            return found
        } label: {
            ($0, "/console/pushes/\(Form.encoded($0))")
        } _: { [visit] id in
            let path = "/api/dead/\(Form.encoded(id))"
            if isRetry { try await visit.call("POST", path + "/retry") } else { try await visit.call("DELETE", path) }
        }
    }
}

/// Tells which dead letters are of no use: their names had a newer push, so the gateway retries them no more.
private actor Replaced {
    private let visit: Visit
    /// The newest push of each name that was asked for.
    private var newest: [String: NewestPushAnswer?] = [:]

    init(_ visit: Visit) { self.visit = visit }

    func isReplaced(_ letter: DeadLetterAnswer) async throws -> Bool {
        if newest[letter.name] == nil {
            newest[letter.name] = .some(try await visit.activity(letter.name)?.newestPush)
        }
        guard let newest = newest[letter.name] ?? nil, newest.pushID != letter.pushID,
            let ledger: LedgerAnswer = try await visit.allowed("/api/push/\(Form.encoded(letter.pushID))"),
            let own = TimeText.parse(ledger.createdAt), let other = TimeText.parse(newest.acceptedAt)
        else { return false }
        // Two pushes may have the same millisecond.
        return other >= own
    }
}
