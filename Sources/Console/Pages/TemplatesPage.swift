import LiveActivity
import StrictJSON

/// Pushes that are kept to be sent again.
enum TemplatesPage {
    /// A push is 5 KiB. Each page of Compose reads all templates of the app.
    static let mostBytes = 16 << 10

    /// The templates that the credential may see: the templates of its names. The API has no call for templates.
    static func templates(_ visit: Visit) async throws -> [(title: String, body: [UInt8])] {
        try await visit.console.gateway.records.templates(visit.app).filter { isOwn($0.body, visit) }
    }

    private static func isOwn(_ body: [UInt8], _ visit: Visit) -> Bool {
        guard let prefix = visit.session.identity.namePrefix else { return true }
        let name = try? JSONDocument(body).root.object().text("name")
        return name.flatMap { try? ActivityName($0) }?.begins(with: prefix) ?? false
    }

    /// Refuses a template of a name that the credential is not for, and a title that one of another name has.
    static func check(_ title: String, _ body: [UInt8], _ visit: Visit) async throws {
        guard let prefix = visit.session.identity.namePrefix else { return }
        if !isOwn(body, visit) {
            throw ConsoleFailure(403, "A template of yours needs a name that begins with “\(prefix)”.")
        }
        let all = try await visit.console.gateway.records.templates(visit.app)
        if let other = all.first(where: { $0.title == title }), !isOwn(other.body, visit) {
            throw ConsoleFailure(403, "That title is taken: choose another one.")
        }
    }

    static func show(_ visit: Visit) async throws -> ConsoleResponse {
        let rows = try await templates(visit).map { template -> Values in
            let body = try? JSONDocument(template.body).root.object()
            return values([
                "title": template.title, "path": "/console/compose" + Form.query(["template": template.title]),
                "name": body?.text("name"), "event": body?.text("event"),
            ])
        }
        return visit.page("templates", "Templates", values(["templates": rows, "empty": rows.isEmpty ? true : nil]))
    }

    static func drop(_ visit: Visit) async throws -> ConsoleResponse {
        let title = visit.form["template_title"]
        let back = "/console/templates"
        guard try await templates(visit).contains(where: { $0.title == title }) else {
            throw ConsoleFailure(404, "There is no such template.")
        }
        if let page = visit.confirmation(
            "Remove the template “\(title)”?", "Pushes made from it stay.", button: "Remove", back: back)
        {
            return page
        }
        try await visit.console.gateway.records.drop(visit.app, template: title)
        return visit.redirect(back, .removed)
    }
}
