import Testing

@testable import APNsClient

@Suite struct ResponseBodyTests {
    private func read(_ text: String) -> ResponseBody { Array(text.utf8).withUnsafeBytes(ResponseBody.init) }

    @Test func `reads reason and timestamp in any order and spacing`() {
        for text in [
            #"{"reason":"Unregistered","timestamp":1719244800123}"#,
            #" { "timestamp" : 1719244800123 , "reason" : "Unregistered" } "#,
            #"{"more":{"reason":"x","list":[1,{"a":"}"}]},"reason":"Unregistered","no":null,"timestamp":1719244800123}"#,
        ] {
            let body = read(text)
            #expect(body.reason == "Unregistered")
            #expect(body.timestamp == 1_719_244_800_123)
        }
    }

    @Test(arguments: [
        "", "{", "{}", "[]", "null", "<html>502 Bad Gateway</html>", #"{"reason""#, #"{"reason":"#, #"{"reason":12}"#,
        #"{"reason":"abc"#, #"{"reason":"a\"#, "\u{0}\u{1}\u{ff}", #"{"timestamp":99999999999999999999}"#,
        #"{"reason":"tab\#u{9}in it"}"#,
    ])
    func garbageLeavesTheFieldsEmpty(_ text: String) {
        let body = read(text)
        #expect(body.reason == "")
        #expect(body.timestamp == nil)
    }

    @Test func `a timestamp of ten digits is in seconds`() {
        #expect(read(#"{"reason":"Unregistered","timestamp":1719244800}"#).timestamp == 1_719_244_800_000)
        for other in [0, 999_999_999, 10_000_000_000, 1_719_244_800_123] as [Int64] {
            #expect(read(#"{"timestamp":\#(other)}"#).timestamp == other)
        }
    }

    @Test func `a reason longer than any of Apple's is dropped`() {
        #expect(read(#"{"reason":"\#(String(repeating: "x", count: 65))"}"#).reason == "")
        #expect(read(#"{"reason":"\#(String(repeating: "x", count: 64))"}"#).reason.count == 64)
    }

    @Test func `every prefix of an answer is read without trapping`() {
        let bytes = Array(#"{"a":[{"b":"\u00e4\""}],"reason":"ExpiredToken","timestamp":1719244800123}"#.utf8)
        for count in 0...bytes.count { _ = bytes[..<count].withUnsafeBytes(ResponseBody.init) }
    }
}
