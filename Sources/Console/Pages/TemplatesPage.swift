import LiveActivity
import Store
import StrictJSON

/// Pushes that are kept to be sent again.
enum TemplatesPage {
    static func show(_ visit: Visit) async throws -> ConsoleResponse {
        let rows = try await visit.console.store.console.templates(visit.app).map { template -> Values in
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
        if let page = visit.confirmation(
            "Remove the template “\(title)”?", "Pushes made from it stay.", button: "Remove", back: back)
        {
            return page
        }
        try await visit.console.store.console.drop(visit.app, template: title)
        return visit.redirect(back, .removed)
    }
}
