import Testing

@testable import YAML

@Suite struct YAMLDocumentTests {
    /// A node as one line: `{a: [1, 'x']}`.
    private func shown(_ node: YAMLNode?) -> String {
        switch node?.content {
        case nil: "nothing"
        case .scalar(let text, let isPlain): isPlain ? text : "'\(text)'"
        case .sequence(let items): "[" + items.map(shown).joined(separator: ", ") + "]"
        case .mapping(let pairs):
            "{" + pairs.map { "\(shown($0.key)): \(shown($0.value))" }.joined(separator: ", ") + "}"
        }
    }

    @Test(arguments: [
        ("", "nothing"), ("# only a comment\n", "nothing"), ("a: 1\n", "{a: 1}"), ("a:\n", "{a: }"),
        ("a: '1'\nb: \"x\\ny\"\n", "{a: '1', b: 'x\ny'}"), ("- 1\n- [2, {c: d}]\n", "[1, [2, {c: d}]]"),
        ("a: |\n  one\n  two\n", "{a: 'one\ntwo\n'}"),
        ("é: ü\n", "{é: ü}"), ("--- a\n", "a"),
    ])
    func `values, lists and sections`(text: String, words: String) throws {
        #expect(shown(try YAMLDocument.parse(text)) == words)
    }

    @Test func `a node knows its line`() throws {
        guard case .mapping(let pairs) = try YAMLDocument.parse("# head\na: 1\nb:\n  c: 2\n")?.content,
            case .mapping(let inner) = pairs[1].value.content
        else { throw YAMLError(reason: "no mapping") }
        #expect([pairs[0].key.line, pairs[1].key.line, inner[0].value.line] == [2, 3, 4])
    }

    @Test(arguments: [
        ("a: 'x\n", "unexpected end of stream", 2), ("a: 1\n  b: 2\n", "mapping values are not allowed", 2),
        ("a: 1\nb: 2\na: 3\n", "'a' is there twice in one section", 3),
        ("a: *x\n", "begins with * is an alias: put it in quotes", 1),
        ("a: 1\nb: &x y\n", "begins with & is an anchor: put it in quotes", 2),
        ("a: !x\n", "begins with ! is a tag: put it in quotes", 1), ("a: @x\n", "put the value in quotes", 1),
        ("a: b: c\n", "put the value in quotes", 1), ("a: >x\n", "put the value in quotes", 1),
        ("a: 1\n---\nb: 2\n", "a second document begins", 3), ("a: [1\n", "did not find expected", 2),
        (String(repeating: "[", count: 70) + String(repeating: "]", count: 70), "too much is nested or repeated", 1),
    ])
    func `what is wrong is said with its line`(text: String, words: String, line: Int) {
        let error = #expect(throws: YAMLError.self) { try YAMLDocument.parse(text) }
        #expect(error?.reason.contains(words) == true, "\(error?.reason ?? "")")
        #expect(error?.line == line)
    }

    @Test(arguments: [
        ("a: b #c\n", true), ("a: b\t#c\n", true), ("a: b # c\n", false), ("a: b\n#c\n", false), ("a: b#c\n", false),
        ("a: 'b' #c\n", false), ("é: ü #c\n", true), ("x: y\na: b #c\n", true), ("a: b\n", false),
        ("a: b ## c\n", false),
    ])
    func `a comment without a blank after its sign may be a part of the value`(text: String, isCut: Bool) throws {
        guard case .mapping(let pairs) = try YAMLDocument.parse(text)?.content else {
            throw YAMLError(reason: "no mapping")
        }
        #expect(pairs.last?.value.isCutByHash == isCut)
    }

    @Test func `a byte that no text may hold is named`() {
        let error = #expect(throws: YAMLError.self) { try YAMLDocument.parse("a: \u{1}\n") }
        #expect(error?.reason == "control characters are not allowed")
    }
}
