import Answers
import LiveActivity
import StrictJSON

/// Tokens that the prune guard keeps until an operator decides.
enum QuarantinePage {
    /// The most names that the API answers at once.
    private static let most = 1_000
    private static let shownAtOnce = 200

    static func show(_ visit: Visit) async throws -> ConsoleResponse {
        let wanted = visit.query.text("name")
        let file = try await Export.file(visit, "/api/quarantine", "names", columns: QuarantinedAnswer.memberNames) {
            entry in
            fits(entry.text("name") ?? entry.text("attributes_type"), wanted)
        }
        if let file { return file }
        let page: QuarantineAnswer = try await visit.get("/api/quarantine", query: "limit=\(most)")
        let fitting = page.names.filter { fits($0.name ?? $0.attributesType, wanted) }
        let rows = fitting.prefix(shownAtOnce).map { entry -> Values in
            let name = entry.name
            return values([
                "name": name ?? entry.attributesType, "entry": entry.word, "chosen": Bulk.isChosen(visit),
                "key": name == nil ? "attributes_type" : "name",
                "isType": name == nil ? true : nil, "namePath": name.map { RoomPage.path($0) },
                "tokens": Shown.count(entry.tokens), "since": Shown.time(entry.since, now: visit.now),
                "reasons": entry.reasons.joined(separator: ", "),
            ])
        }
        let bulk = Bulk.shown(
            visit,
            [
                .init(word: "release", title: "Release the chosen"),
                .init(word: "discard", title: "Discard the chosen", isDanger: true),
            ], of: rows, keeping: ["name"], hasMore: fitting.count > rows.count)
        return visit.page(
            "quarantine", "Quarantine",
            values([
                "places": rows, "empty": rows.isEmpty ? true : nil, "total": Shown.count(page.totalNames),
                "hasMore": wanted == nil && page.totalNames > rows.count ? true : nil, "wantedName": wanted,
                "bulk": bulk, "pager": Pager.values(visit, next: nil, keeping: ["name"]),
            ]))
    }

    private static func fits(_ name: String?, _ wanted: String?) -> Bool {
        wanted.map { name?.contains($0) ?? false } ?? true
    }

    /// Decides about all places that were chosen.
    private static func decideMany(_ visit: Visit) async throws -> ConsoleResponse {
        let isRelease = visit.form["do"] == "release"
        let page: QuarantineAnswer = try await visit.get("/api/quarantine", query: "limit=\(most)")
        let all = page.names.filter { fits($0.name ?? $0.attributesType, visit.form.text("name")) }
        let chosen = Set(visit.form["every"] == "yes" ? all.map(\.word) : visit.form.values("entry"))
        let count = all.reduce(0) { $0 + (chosen.contains($1.word) ? $1.tokens : 0) }
        let tokens = Shown.count(count, "token", "tokens")
        let words =
            isRelease
            ? Bulk.Words(
                verb: "Release", done: "released", one: "name’s tokens", many: "names’ tokens",
                sentence: "The next pushes go to their quarantined tokens again: \(tokens).", isSafe: true)
            : Bulk.Words(
                verb: "Discard", done: "discarded", one: "name’s tokens", many: "names’ tokens",
                sentence: "\(tokens) in quarantine are pruned, the names stay. Their devices get nothing until they "
                    + "register again.")
        return try await Bulk(visit: visit, back: "/console/quarantine").run(words) {
            all.map(\.word)
        } label: { word in
            let (key, place) = QuarantinedAnswer.parts(word)
            return (place, key == "name" ? RoomPage.path(place) : nil)
        } _: { word in
            let (key, place) = QuarantinedAnswer.parts(word)
            try await decide(visit, key, place, isRelease: isRelease)
        }
    }

    private static func decide(_ visit: Visit, _ key: String, _ place: String, isRelease: Bool) async throws {
        try await visit.call(
            "POST", "/api/quarantine/\(isRelease ? "release" : "discard")",
            .object([JSON.Member(key, .string(place))]))
    }

    static func decide(_ visit: Visit) async throws -> ConsoleResponse {
        if visit.form.has("do") { return try await decideMany(visit) }
        let key = visit.form["key"] == "attributes_type" ? "attributes_type" : "name"
        let place = visit.form["place"]
        let isRelease = visit.form["to"] == "release"
        let what = isRelease ? "Release" : "Discard"
        let sentence =
            isRelease
            ? "The next push goes to the quarantined tokens of \(place) again."
            : "The quarantined tokens of \(place) are pruned. Their devices get nothing until they register again."
        let title = "\(what) the tokens of \(place)?"
        if let page = visit.confirmation(
            title, sentence, button: what, back: "/console/quarantine", isSafe: isRelease)
        {
            return page
        }
        try await decide(visit, key, place, isRelease: isRelease)
        return visit.redirect("/console/quarantine", isRelease ? .released : .discarded)
    }
}

extension QuarantinedAnswer {
    /// The place as a box of the page has it: `name:match-42`, which no attributes type can be taken for.
    fileprivate var word: String { name.map { "name:\($0)" } ?? "attributes_type:\(attributesType ?? "")" }

    fileprivate static func parts(_ word: String) -> (key: String, place: String) {
        let colon = word.firstIndex(of: ":") ?? word.startIndex
        let place = String(word[colon...].dropFirst())
        return (word[..<colon] == "attributes_type" ? "attributes_type" : "name", place)
    }
}
