import Testing

@testable import Console

@Suite struct TemplateTests {
    private func render(_ text: String, _ values: [String: Any] = [:]) throws -> String {
        let row = try PageTemplate(Array("<li>{{n}}</li>".utf8))
        return try PageTemplate(Array(text.utf8)).render(values) { $0 == "row" ? row : nil }
    }

    @Test func `a value is escaped unless it has three braces, and an absent one is nothing`() throws {
        #expect(try render("{{a}} {{{a}}} {{ a }}{{b}}", ["a": "<&>"]) == "&lt;&amp;&gt; <&> &lt;&amp;&gt;")
        #expect(try render("{{n}} {{d}} {{o}}", ["n": 3, "d": 1.5, "o": Optional<Int>.none as Any]) == "3 1.5 ")
        #expect(try render("{{a}}", ["a": "{{b}}", "b": "no"]) == "{{b}}")
    }

    @Test(arguments: [
        ("true", true as any Sendable, "yes"), ("false", false, "no"), ("text", "x", "yes"), ("no text", "", "yes"),
        ("zero", 0, "yes"), ("an empty list", [String](), "no"), ("a list", ["a", "b"], "yesyes"),
    ])
    func `a section is there for each item, and its opposite if there is none`(
        _ what: String, _ value: any Sendable, _ expected: String
    ) throws {
        #expect(try render("{{#a}}yes{{/a}}{{^a}}no{{/a}}", ["a": value]) == expected, "\(what)")
        #expect(try render("{{#a}}yes{{/a}}{{^a}}no{{/a}}") == "no")
    }

    /// A value that counts how often it is written.
    private struct Counted: CustomStringConvertible {
        final class Writes { var count = 0 }
        let writes: Writes
        var description: String {
            writes.count += 1
            return "x"
        }
    }

    @Test(arguments: [1, 10, 100]) func `each value of a list is written once for each mention`(size: Int) throws {
        let writes = Counted.Writes()
        let rows = (0..<size).map { _ in ["n": Counted(writes: writes)] as [String: Any] }
        let text = try render("{{#rows}}{{n}}{{>row}}<a title=\"{{n}}\">{{/rows}}", ["rows": rows])
        #expect(writes.count == 3 * size && text.utf8.count == 24 * size)
    }

    @Test func `hidden characters are marked where a reader sees them, and sent back as they are`() throws {
        let text = try render(
            #"<a title="{{n}}">{{n}}</a><textarea rows="1">{{n}}</textarea>{{n}}{{{n}}}"#, ["n": "a\u{200B}<"])
        let (raw, marked) = ("a\u{200B}&lt;", "a⟨U+200B⟩&lt;")
        #expect(text == #"<a title="\#(raw)">\#(marked)</a><textarea rows="1">\#(raw)</textarea>\#(marked)a\#u{200B}<"#)
        #expect(try render("{{n}}", ["n": "a\nb\u{E0061}"]) == "a\nb⟨U+E0061⟩")
    }

    @Test func `a name is looked up from the innermost section outwards`() throws {
        let values: [String: Any] = ["n": 0, "z": "z", "rows": [["n": 1], ["n": 2]], "words": ["a", "<"]]
        #expect(try render("{{#rows}}{{n}}{{z}}{{/rows}}{{n}}", values) == "1z2z0")
        #expect(try render("{{#rows}}{{>row}}{{/rows}}", values) == "<li>1</li><li>2</li>")
        #expect(try render("{{#words}}{{.}}{{/words}}", values) == "a&lt;")
        let sealed: [String: Any] = ["n": "outer", "rows": [sealed(["n": nil]), sealed(["n": "inner"])]]
        #expect(try render("{{#rows}}[{{n}}]{{/rows}}", sealed) == "[][inner]")
        #expect(try render("{{#rows}}{{^n}}never{{/n}}{{#z}}{{n}}{{/z}}{{/rows}}", values) == "12")
    }

    @Test func `the line of a section that stands alone is not shown`() throws {
        #expect(try render("a\n  {{#t}}\n  b\n  {{/t}}\nc\n", ["t": true]) == "a\n  b\nc\n")
        #expect(try render("{{#t}}\nb\n{{/t}}", ["t": true]) == "b\n")
        #expect(try render("a {{#t}}\nb {{/t}}\n", ["t": true]) == "a \nb \n")
        #expect(try render("{{#t}}{{/t}}\n{{a}}\n", ["t": true]) == "\n\n")
    }

    @Test(arguments: ["{{a", "{{#a}}", "{{/a}}", "{{#a}}{{/b}}", "{{{a}}", "{{#a}}{{#b}}{{/a}}{{/b}}"])
    func `a template that is not well formed is refused`(_ text: String) {
        #expect(throws: PageTemplate.Mistake.self) { try PageTemplate(Array(text.utf8)) }
    }
}
