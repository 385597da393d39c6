import Foundation
import Testing

@testable import Console

@Suite struct TemplatesTests {
    @Test func `every template can be read and rendered`() {
        let templates = Templates.all
        for name in Templates.names { #expect(!templates.render(name, [:]).contains("{{"), "\(name)") }
    }

    @Test(arguments: [
        "<script>alert(1)</script>", "\" onfocus=alert(1) x=\"", "' onfocus=alert(1)", "`",
        // A combining accent makes one character of the mark before it.
        "\"\u{301} onfocus=alert(1)", "<\u{338}img src=x>", "&\u{301}lt;", "{{csrf}}", "{{{content}}}",
    ])
    func `no text of others becomes markup, also before a combining accent`(text: String) {
        var bytes: [UInt8] = []
        HTMLText.escape(text, into: &bytes)
        let escaped = String(decoding: bytes, as: UTF8.self)
        #expect(!escaped.utf8.contains { "<>\"'`".utf8.contains($0) }, "\(escaped)")
        let page = Templates.all.render("names", ["contains": text, "empty": true])
        let found = ["<script>alert", "\" onfocus", "<img"].filter(page.contains)
        #expect(found.isEmpty, "\(page)")
        let plain = Templates.all.render("names", ["contains": "", "empty": true])
        let tags = page.utf8.count { $0 == UInt8(ascii: "<") }
        let expected = plain.utf8.count { $0 == UInt8(ascii: "<") }
        #expect(tags == expected)
    }

    @Test func `no page has a script, a style or a handler of its own`() {
        let templates = Templates.all
        for name in Templates.names {
            let text = templates.render(name, [:])
            #expect(!text.contains("style=") && !text.contains("<style"), "\(name)")
            let handler = text.range(of: #" on[a-z]+="#, options: .regularExpression)
            #expect(handler == nil, "\(name)")
        }
    }
}
