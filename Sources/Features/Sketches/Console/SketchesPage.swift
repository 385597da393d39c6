import Answers
import LiveActivity
import StrictJSON

/// Sketches of cards by attributes type: the list, and one of them with the card that it makes.
enum SketchesPage {
    private static let example = """
        {
          "background": "indigo",
          "card": {"rows": [
            {"columns": [
              {"symbol": "soccerball"},
              {"text": "{home} : {away}", "size": "large", "weight": "bold", "align": "center"},
              {"text": "{minute}'", "color": "yellow", "align": "trailing"}
            ]},
            {"progress": "{minute}", "of": 90, "color": "green"}
          ]},
          "leading": {"text": "{home} : {away}"},
          "trailing": {"text": "{minute}'"}
        }
        """

    static func show(_ visit: Visit) async throws -> ConsoleResponse {
        let type = visit.query.text("type")
        let path = type.map { "/api/sketches/\(Form.encoded($0))" }
        let found: [UInt8]? = if let path { try await visit.find(path) } else { nil }
        let text = found.map { String(decoding: $0, as: UTF8.self) } ?? example
        return try await page(visit, type: type ?? "", text: text, state: visit.query["state"], isThere: found != nil)
    }

    static func change(_ visit: Visit) async throws -> ConsoleResponse {
        let form = visit.form
        let (type, text) = (form["type"].trimmed, form["sketch"])
        let path = "/api/sketches/\(Form.encoded(type))"
        if form["do"] == "remove" {
            let sentence = "Cards of \(type) are drawn as those without a sketch."
            let back = "/console/sketches"
            if let page = visit.confirmation("Remove the sketch?", sentence, button: "Remove", back: back) {
                return page
            }
            try await visit.call("DELETE", path)
            return visit.redirect(back, .sketchRemoved)
        }
        var problem: String?
        do throws(JSONError) {
            let root = try JSONDocument(text).root
            _ = try Sketch(root)
            if form["do"] == "save" {
                let answer = await visit.answer("PUT", path, JSON(root))
                if (200..<300).contains(answer.status) {
                    return visit.redirect("/console/sketches" + Form.query(["type": type]), .sketchKept)
                }
                problem = ConsoleFailure(answer).message
            }
        } catch {
            problem = error.description
        }
        return try await page(visit, type: type, text: text, state: form["state"], isThere: false, problem: problem)
    }

    private static func page(
        _ visit: Visit, type: String, text: String, state: String, isThere: Bool, problem: String? = nil
    ) async throws -> ConsoleResponse {
        let listing: SketchesAnswer = try await visit.get("/api/sketches")
        let rows = listing.sketches.map { entry in
            ["listed": entry.attributesType, "path": "/console/sketches" + Form.query(["type": entry.attributesType])]
                as Values
        }
        let sample = state.trimmed.isEmpty ? #"{"home": 2, "away": 1, "minute": 63}"# : state
        let sketch = (try? JSONDocument(text).root).flatMap { try? Sketch($0) }
        let drawing = sketch.map { CardDrawing($0, visit.console.templates) }
        let values = values([
            "sketches": rows, "hasSketches": rows.isEmpty ? nil : true, "type": type, "sketchText": text,
            "sample": sample, "problem": problem, "isThere": isThere ? true : nil,
            "colours": Sketch.colours.joined(separator: ", "),
            "card": Card(
                app: visit.app.rawValue, name: "", state: try? JSONDocument(sample).root, drawing: drawing,
                type: type.isEmpty ? "a type" : type, now: visit.now
            ).values,
        ])
        return visit.page("sketches", "Sketches", values, status: problem == nil ? 200 : 422)
    }
}

extension Route {
    static let sketches = [
        Route("GET", "/console/sketches", .operate, forAllNames: true, SketchesPage.show),
        Route("POST", "/console/sketches", .operate, forAllNames: true, SketchesPage.change),
    ]
}

extension ComposeFeature {
    static let sketches = ComposeFeature { visit, _ in
        visit.session.identity.mayOpen("/console/sketches") ? visit.markup("sketches-link", [:]) : ""
    }
}

extension Notice {
    static let sketches: [Notice] = [sketchKept, sketchRemoved]

    static let sketchKept = Notice("sketch-kept", "The sketch is kept. Cards of its type are drawn by it.")
    static let sketchRemoved = Notice("sketch-removed", "The sketch is removed.")
}
