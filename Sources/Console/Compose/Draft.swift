import LiveActivity
import OpenSSL
import StrictJSON

/// A push that somebody writes. Redis keeps it while they do, so that a reload, a way back or the end of a session
/// loses nothing, and each page of Compose has an address.
struct Draft {
    /// The error of the last try. The next change takes it away.
    struct Problem {
        var message: String
        var field: String?
        var status: Int
    }

    /// The fields of Compose and of the question before a publish, beside the fields of a schema.
    private static let fields = Set(
        ComposeForm.fields + Basis.fields
            + ["at", "key", "asks", "mine", "room", "state_before", "filled", "of", "template_title"])

    /// The most drafts of a credential. The oldest goes first.
    static let most = 20

    let id: String
    var form: Form
    /// Epoch ms. Nil: it was never kept.
    private(set) var savedAt: Int64?
    var problem: Problem?

    init(id: String, form: Form = Form()) { (self.id, self.form) = (id, form) }

    /// The form that was sent to `…?draft=ID`.
    init(sent visit: Visit) {
        id = visit.query.text("draft").flatMap { Self.isID($0) ? $0 : nil } ?? Self.newID()
        var left = SchemaFields.most
        // A draft is read again for days, so it has nothing that Compose does not.
        form = visit.form.only { name in
            guard name.hasPrefix(SchemaFields.prefix) else { return Self.fields.contains(name) }
            left -= 1
            return left >= 0
        }
    }

    static func newID() -> String { String(ConsoleSession.random().prefix(24)) }

    static func isID(_ text: String) -> Bool {
        text.utf8.count == 24 && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    /// Reads a stored draft. Nil for a record of another form.
    init?(id: String, record: [UInt8]) {
        guard let body = try? JSONDocument(record).root.object(), let fields = body.object("form") else { return nil }
        self.id = id
        form = Form()
        for (key, value) in fields.members { form[key] = (try? value.string()) ?? "" }
        savedAt = body["saved_at"].flatMap { try? $0.integer() }.flatMap { Int64(exactly: $0) }
        if let problem = body.object("problem"), let message = problem.text("message") {
            let status = problem["status"].flatMap { try? $0.integer() }.flatMap { Int(exactly: $0) }
            self.problem = Problem(message: message, field: problem.text("field"), status: status ?? 422)
        }
    }

    func record(now: Int64) -> [UInt8] {
        let problem = problem.map { problem in
            JSON.fields([
                "message": .string(problem.message), "field": problem.field.map(JSON.string),
                "status": .integer(problem.status),
            ])
        }
        return JSON.fields([
            "saved_at": .integer(Int(now)),
            "form": .object(form.fields.map { JSON.Member($0.name, .string(form[$0.name])) }), "problem": problem,
        ]).bytes
    }

    /// The entry in the list of drafts.
    func title(now: Int64) -> DraftTitle {
        let name = form.name() ?? "no name yet"
        let shown = String(name.unicodeScalars.prefix(DraftTitle.mostScalars))
        return DraftTitle(id: id, text: "\(form.text("event") ?? "update") of \(shown)", savedAt: now)
    }

    /// Begins the question before its publish, which has one key. Minutes count from here.
    mutating func ask(now: Int64) {
        form["key"] = "console/\(ConsoleSession.random())"
        form["at"] = "\(now / 1_000)"
    }

    /// The page that has this draft.
    func path(_ page: String = "/console/compose", look: String? = nil) -> String {
        page + Form.query(["draft": id, "look": look])
    }
}

/// A draft in the list of drafts.
struct DraftTitle {
    /// The most characters of the name. The field takes any text.
    static let mostScalars = 100

    let id: String
    let text: String
    /// Epoch ms.
    let savedAt: Int64

    init(id: String, text: String, savedAt: Int64) { (self.id, self.text, self.savedAt) = (id, text, savedAt) }

    /// Reads an entry of the stored list. Nil for a record of another form.
    init?(id: String, record: [UInt8]) {
        guard let body = try? JSONDocument(record).root.object(), let text = body.text("title"),
            let savedAt = body["saved_at"].flatMap({ try? $0.integer() })
        else { return nil }
        self.init(id: id, text: text, savedAt: savedAt)
    }

    var record: [UInt8] { JSON.fields(["title": .string(text), "saved_at": .integer(savedAt)]).bytes }

    /// The page that has this draft.
    var path: String { Draft(id: id).path() }
}

extension Visit {
    /// Drafts belong to the credential. People who share one share its drafts.
    private var owner: String {
        let identity = session.identity
        // A person has drafts of their own. A text of the provider's is no part of a key as it is.
        let person = identity.person.map { "-" + Hex.encode(SHA256Digest(of: $0.subject.utf8)) } ?? ""
        return (identity.credentialID ?? "master") + person
    }

    func keep(_ draft: Draft) async throws {
        let others = try await drafts()
        let isNew = !others.contains { $0.id == draft.id }
        let oldest = isNew && others.count >= Draft.most ? others.last?.id : nil
        try await console.gateway.records.keep(
            app, of: owner, draft: draft.id, draft.record(now: now), title: draft.title(now: now).record,
            insteadOf: oldest)
    }

    /// The draft of the address. Nil: the address has none, or it is gone.
    func draft() async throws -> Draft? {
        guard let id = query.text("draft"), Draft.isID(id) else { return nil }
        return try await console.gateway.records.draft(app, of: owner, id).flatMap { Draft(id: id, record: $0) }
    }

    /// The newest first. This reads no draft: each may be as long as a form.
    func drafts() async throws -> [DraftTitle] {
        try await console.gateway.records.draftTitles(app, of: owner).compactMap {
            DraftTitle(id: $0.id, record: $0.body)
        }
        .sorted { $0.savedAt > $1.savedAt }
    }

    func drop(_ draft: Draft) async throws { try await console.gateway.records.drop(app, of: owner, draft: draft.id) }
}
