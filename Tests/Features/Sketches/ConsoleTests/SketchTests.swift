import StrictJSON
import Testing

@testable import Console

@Suite struct SketchTests {
    private func sketch(_ text: String) throws -> Sketch { try Sketch(JSONDocument(text).root) }

    private func html(_ text: String, state: String, attributes: String? = nil) throws -> String {
        let card = Card(
            app: "shop", name: "match-42", state: try JSONDocument(state).root,
            drawing: CardDrawing(try sketch(text), Templates.all), type: "Match",
            attributes: try attributes.map { try JSONDocument($0).root.object() }, now: 1_795_284_000_000)
        return Templates.all.render("card", card.values)
    }

    @Test func `a sketch is drawn with the values of the content state`() throws {
        let text = """
            {"background":"indigo","card":{"rows":[
              {"columns":[{"symbol":"soccerball"},{"text":"{score.home} : {score.away}","size":"large","weight":"bold"}]},
              {"progress":"{minute}","of":90,"color":"green"},{"timer":"{ends}"},{"text":"{attributes.team} {gone} {{x}"},
              {"symbol":"wand.and.rays"}]},
             "leading":{"text":"{score.home}"},"trailing":{"symbol":"flag.fill"}}
            """
        let shown = try html(
            text, state: #"{"score":{"home":2,"away":1},"minute":45,"ends":1795284600}"#,
            attributes: #"{"team":"Reds"}"#)
        for part in [
            "⚽️", #"<span class="s-text s-large s-bold">2 : 1</span>"#,
            #"<progress class="s-green" max="100" value="50""#,
            #"datetime="2026-11-21T18:10:00Z">in 10 min</time>"#, ">Reds – {x}<", ">wand.and.rays<", "🚩", "s-on-indigo",
            "after the description of Match",
        ] { #expect(shown.contains(part), "\(part) in \(shown)") }
        // Swift writes its own seconds.
        #expect(
            try html(#"{"card":{"timer":"{ends}"}}"#, state: #"{"ends":816976800}"#).contains("2026-11-21T18:00:00Z"))
        #expect(try html(#"{"card":{"timer":"{ends}"}}"#, state: #"{"ends":"soon"}"#).contains(">soon<"))
        for (value, percent) in [("0.5", 50), ("50", 50), ("1e300", 100), ("-3", 0), ("\"x\"", 0)] {
            let bar = try html(#"{"card":{"progress":"{p}"}}"#, state: #"{"p":\#(value)}"#)
            #expect(bar.contains(#"value="\#(percent)""#), "\(bar)")
        }
    }

    @Test func `nothing of a sketch or of a state becomes markup`() throws {
        let evil = #"<img src=x onerror=alert(1)>\"'`"#
        let shown = try html(
            #"{"card":{"rows":[{"text":"\#(evil) {a}"},{"symbol":"{a}"},{"timer":"{a}"}]},"leading":{"symbol":"\#(evil)"}}"#,
            state: #"{"a":"\#(evil)"}"#)
        #expect(!shown.contains("<img") && shown.contains("&lt;img"), "\(shown)")
    }

    @Test(arguments: [
        (#"{"card":{"text":"{a"}}"#, "card.text: has a { without its }", 17),
        (#"{"card":{"text":"{}"}}"#, "card.text: has no name of a field", 17),
        (#"{"card":{"text":"{a..b}"}}"#, "card.text: has no name of a field", 17),
        (#"{"card":{"text":"a","color":"cyan"}}"#, "card.color: must be one of primary", 29),
        (#"{"card":{"text":"a","symbol":"b"}}"#, "card: must have exactly one of rows", 9),
        (#"{"card":{}}"#, "card: must have exactly one of rows", 9),
        (#"{"card":{"rows":[]}}"#, "card.rows: must hold 1 to 12 parts, not 0", 17),
        (#"{"card":{"text":"a","of":3}}"#, "card.of: belongs to progress", 26),
        (#"{"card":{"progress":"{a}","of":0}}"#, "card.of: must be greater than 0", 32),
        (#"{"card":{"text":"a"},"leading":{"rows":[{"text":"a"}]}}"#, "leading.rows: is nested too deeply", 40),
        (#"{"card":{"html":"<b>"}}"#, "card.html", 10), (#"{"leading":{"text":"a"}}"#, "card: is required", 1),
    ])
    func `a mistake is told with its place`(text: String, message: String, column: Int) {
        #expect {
            try sketch(text)
        } throws: { error in
            guard let error = error as? JSONError else { return false }
            #expect(error.description.hasPrefix(message), "\(error)")
            #expect(error.location.column == column, "\(error)")
            return true
        }
    }

    @Test func `a sketch has bounds`() throws {
        func nested(_ depth: Int) -> String {
            (1..<depth).reduce(#"{"text":"a"}"#) { inner, _ in #"{"rows":[\#(inner)]}"# }
        }
        _ = try sketch(#"{"card":\#(nested(6))}"#)
        let row = #"{"rows":[\#(Array(repeating: #"{"text":"a"}"#, count: 12).joined(separator: ","))]}"#
        let many = #"{"rows":[\#(Array(repeating: row, count: 8).joined(separator: ","))]}"#
        for text in [
            nested(7), many, #"{"text":"\#(String(repeating: "a", count: 201))"}"#,
            #"{"text":"\#(String(repeating: "{a}", count: 11))"}"#,
        ] {
            #expect(throws: JSONError.self, "\(text)") { try sketch(#"{"card":\#(text)}"#) }
        }
    }
}
