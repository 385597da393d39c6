import LiveActivity
import OpenSSL
import Store
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

    let id: String
    var form: Form
    /// Epoch ms. Nil: it was never kept.
    private(set) var savedAt: Int64?
    var problem: Problem?

    init(id: String, form: Form = Form()) { (self.id, self.form) = (id, form) }

    /// The form that was sent to `…?draft=ID`.
    init(sent visit: Visit) {
        id = visit.query.text("draft").flatMap { Self.isID($0) ? $0 : nil } ?? Self.newID()
        form = visit.form.without(["csrf", "action", "draft", "test_device"])
    }

    static func newID() -> String { String(ConsoleSession.random().prefix(24)) }

    static func isID(_ text: String) -> Bool {
        text.utf8.count == 24 && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    /// Nil for a record of another form.
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

extension Visit {
    /// Drafts belong to the credential. People who share one share its drafts.
    private var owner: String {
        let identity = session.identity
        // A person has drafts of their own. A text of the provider's is no part of a key as it is.
        let person = identity.person.map { "-" + Hex.encode(SHA256Digest(of: $0.subject.utf8)) } ?? ""
        return (identity.credentialID ?? "master") + person
    }

    func keep(_ draft: Draft) async throws {
        let console = console.store.console
        var oldest: String?
        if try await console.draft(app, of: owner, draft.id) == nil {
            let others = try await drafts()
            if others.count >= ConsoleStore.mostDrafts { oldest = others.last?.id }
        }
        try await console.keep(app, of: owner, draft: draft.id, draft.record(now: now), insteadOf: oldest)
    }

    /// The draft of the address. Nil: the address has none, or it is gone.
    func draft() async throws -> Draft? {
        guard let id = query.text("draft"), Draft.isID(id) else { return nil }
        return try await console.store.console.draft(app, of: owner, id).flatMap { Draft(id: id, record: $0) }
    }

    /// The newest first.
    func drafts() async throws -> [Draft] {
        try await console.store.console.drafts(app, of: owner).compactMap { Draft(id: $0.id, record: $0.body) }
            .sorted { ($0.savedAt ?? 0) > ($1.savedAt ?? 0) }
    }

    func drop(_ draft: Draft) async throws { try await console.store.console.drop(app, of: owner, draft: draft.id) }
}
