import LiveActivity
import Testing

@Suite struct HiddenTextTests {
    @Test(arguments: [
        ("match-42", "match-42"), ("Übung 日本 ✓", "Übung 日本 ✓"), ("match-42\u{200B}", #"match-42\u200b"#),
        ("\u{202E}evil\u{2066}", #"\u202eevil\u2066"#), ("a\u{2028}b\u{2029}", #"a\u2028b\u2029"#),
        ("\u{FEFF}x\u{AD}", #"\ufeffx\u00ad"#), ("\u{E0061}", #"\udb40\udc61"#),
        ("\u{85}\u{1B}[2J", #"\u0085\u001b[2J"#),
        ("a\tb\nc", "a\tb\nc"), ("e\u{301}", "e\u{301}"),
    ])
    func `what nobody sees is escaped, and all else stays`(text: String, visible: String) {
        #expect(text.visible == visible && Array(visible.visible.utf8) == Array(visible.utf8))
    }
}
