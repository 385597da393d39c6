import Testing

@testable import APNsSimulator

struct JSONReaderTests {
    @Test(arguments: [
        "{}", "[]", "0", "-0.5e+10", "\"\\u00e9\\n\"", " {\"a\" : [1, true, null, \"x\"]} ", "1E5", "\"é\"", "[[[]]]",
    ])
    func `takes`(text: String) { #expect(JSONReader.read(Array(text.utf8)) != nil) }

    @Test(arguments: [
        "", " ", "{", "{\"a\"}", "{\"a\":}", "{a:1}", "[1,]", "{\"a\":1,}", "01", "1.", ".5", "-", "1e", "tru", "nulll",
        "\"", "\"\\x\"", "\"\\u12\"", "\"\n\"", "{} {}", "[1 2]", "+1", "NaN",
    ])
    func `refuses`(text: String) { #expect(JSONReader.read(Array(text.utf8)) == nil) }

    @Test func `refuses broken UTF-8 and abysses`() {
        #expect(JSONReader.read([0x22, 0xff, 0x22]) == nil)
        let deep = String(repeating: "[", count: 2_000) + String(repeating: "]", count: 2_000)
        #expect(JSONReader.read(Array(deep.utf8)) == nil)
    }

    @Test func `members keep their text`() throws {
        let text = Array(#"{"a": 1.50 ,"b":{"c" : "}"}, "a" : [ ]}"#.utf8)
        let root = try #require(JSONReader.read(text))
        let members = root.members
        #expect(members.count == 2)
        #expect(members["a"]?.kind == .array)
        #expect(members["b"]?.text == #"{"c" : "}"}"#)
        #expect(members["b"]?.members["c"]?.string == "}")
    }
}
