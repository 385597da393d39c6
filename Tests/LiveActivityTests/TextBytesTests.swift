import LiveActivity
import Testing

@Suite struct TextBytesTests {
    @Test func `a text is cut at the byte, whatever stands behind it`() {
        for rest in ["", "x", "\u{301}x", "\u{200D}", "\u{FE0F}", " two  spaces", "\u{1F3FD}"] {
            #expect("shop \(rest)".cut(at: 0x20).map { [$0.head, $0.tail] } == ["shop", rest])
            #expect("a b \(rest)".parts(between: 0x20, atMost: 3) == ["a", "b", rest])
            #expect("t:\(rest)".rest(behind: "t:").map { Array($0.utf8) } == Array(rest.utf8))
            let escaped = "{\(rest)%".percentEncoded { $0 == 0x7B || $0 == 0x25 }
            #expect(Array(escaped.utf8) == Array("%7B\(rest)%25".utf8))
            #expect(escaped.percentDecoded.map { Array($0.utf8) } == Array("{\(rest)%".utf8))
        }
        #expect("none".cut(at: 0x20) == nil && "none".rest(behind: "t:") == nil)
        #expect("".parts(between: 0x20) == [""])
    }

    @Test(arguments: [
        ("", ""), ("a+b", "a+b"), ("%c3%A9", "é"), ("%00", "\0"), ("%", nil), ("%4", nil), ("%4g", nil), ("a%2", nil),
        ("%+4", nil), ("%FF", nil), ("%ED%A0%80", nil), ("%C3", nil),
    ])
    func `an escape is two hex digits, and the whole is UTF-8`(text: String, decoded: String?) {
        #expect(text.percentDecoded == decoded)
    }

    @Test(arguments: [("a+b%2Bc", "a b+c"), ("+", " "), ("%0D%0A", "\r\n"), ("%2", nil)])
    func `a form writes a space as a plus sign`(text: String, decoded: String?) {
        #expect(text.formDecoded == decoded)
    }

    @Test(arguments: [("", ""), (" \r\n\t", ""), (" a b\n", "a b"), ("a", "a")])
    func `trimmed text has no space at its ends`(text: String, trimmed: String) {
        #expect(text.trimmed == trimmed)
    }

    @Test func `texts that Unicode calls equivalent are two keys, in the order of their bytes`() {
        let (composed, decomposed): (ExactText, ExactText) = ("\u{E9}", "e\u{301}")
        #expect(composed.description == decomposed.description && composed != decomposed)
        #expect(Set([composed, decomposed, "\u{E9}"]).count == 2)
        #expect(decomposed < composed && !(composed < decomposed))
        #expect([ExactText("\u{212A}"), "K"].sorted() == ["K", "\u{212A}"])
    }
}
