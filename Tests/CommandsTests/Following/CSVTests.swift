import ArgumentParser
import Foundation
import StrictJSON
import Testing

@testable import Commands

@Suite struct CSVTests {
    @Test func `CSV becomes NDJSON whatever the pieces, and lines keep their numbers`() throws {
        let text = "Channel,token,registered_at_ms\r\n\"a,\"\"b\"\"\",0a,12\r\n\nonly-one\nc,0b,\nd,0c,x"
        for size in [1, 3, 1_000] {
            var lines = CSVLines()
            var out: [UInt8] = []
            var rest = Array(text.utf8)[...]
            while !rest.isEmpty {
                out += try lines.feed(Array(rest.prefix(size)))
                rest = rest.dropFirst(size)
            }
            out += try lines.finish()
            #expect(
                String(decoding: out, as: UTF8.self) == """
                    {"channel":"a,\\"b\\"","token":"0a","registered_at_ms":12}
                    {"channel":"c","token":"0b"}
                    {"channel":"d","token":"0c","registered_at_ms":"x"}

                    """)
            #expect((1...3).map(lines.line(of:)) == [2, 5, 6])
            #expect(lines.rejected.map(\.line) == [4])
        }
    }

    @Test func `a file of the console comes back as it was, formulas and apostrophes too`() throws {
        let row =
            #"{"channel":"=dev","token":"0a","options":{"catch_up":true}}"#
            + "\n" + #"{"channel":"'a\"b;-c","token":"0b","registered_at_ms":12}"# + "\n"
        let csv = "channel,token,registered_at_ms,options.catch_up\r\n'=dev,0a,,true\r\n\"''a\"\"b;'-c\",0b,12,\r\n"
        var lines = CSVLines()
        #expect(String(decoding: try lines.feed(Array(csv.utf8)), as: UTF8.self) == row)
        #expect(lines.rejected.isEmpty)
    }

    @Test(arguments: [
        ("0012", "12"), ("+5", "5"), ("-7", "-7"), ("0", "0"), ("9223372036854775808", #""9223372036854775808""#),
        ("1e3", #""1e3""#), ("true", "true"), ("True", #""True""#),
    ])
    func `a number of CSV is one of JSON`(field: String, value: String) throws {
        var lines = CSVLines()
        let out = try lines.feed(Array("channel,token,registered_at_ms\na,0a,\(field)\n".utf8))
        #expect(
            String(decoding: out, as: UTF8.self) == #"{"channel":"a","token":"0a","registered_at_ms":\#(value)}"# + "\n"
        )
    }

    @Test func `CSV has the columns that NDJSON has keys`() throws {
        var lines = CSVLines()
        let out = try lines.feed(
            Array(
                """
                channel,token,started_at_ms,activity_id,options.catch_up,frequent_pushes_enabled
                a,0a,12,77,true,false
                b,0b,,,,

                """.utf8))
        #expect(
            String(decoding: out, as: UTF8.self) == """
                {"channel":"a","token":"0a","started_at_ms":12,"activity_id":"77","options":{"catch_up":true},"frequent_pushes_enabled":false}
                {"channel":"b","token":"0b"}

                """)
        for column in ["activity", "options", "catch_up", "Token"] {
            var lines = CSVLines()
            #expect(throws: CommandFailure.self) { try lines.feed(Array("channel,token,\(column)\n".utf8)) }
        }
    }

    @Test func `channels whose address is known, or is an installation id, need no column for a token`() throws {
        var lines = CSVLines()
        let out = try lines.feed(
            Array("channel,platform,fid\na,android,\nb,android,cEuu3tQRTvK0xkDQhFzwYk\n".utf8))
        #expect(
            String(decoding: out, as: UTF8.self) == """
                {"channel":"a","platform":"android"}
                {"channel":"b","platform":"android","fid":"cEuu3tQRTvK0xkDQhFzwYk"}

                """)
        for header in ["channel", "channel,fid", "token,platform"] {
            var lines = CSVLines()
            #expect(throws: CommandFailure.self) { try lines.feed(Array("\(header)\n".utf8)) }
        }
    }

    @Test func `CSV of tags and of users has a line for each tag and each channel`() throws {
        var tags = CSVLines(.tags)
        let tagged = try tags.feed(
            Array("tag,channel,group,action\ngold,a,membership,\nnew,7,,remove\n,b,,\nx,c,,set\n".utf8))
        #expect(
            String(decoding: tagged, as: UTF8.self) == """
                {"channel":"a","add":{"membership":["gold"]}}
                {"channel":"7","remove":{"device":["new"]}}

                """)
        #expect(tags.rejected.map(\.line) == [4, 5])
        #expect(tags.rejected.map(\.error) == ["tag: is empty", "action: must be add or remove"])
        var users = CSVLines(.users)
        let named = try users.feed(Array("channel,named_user_id\na,12\nb,\n".utf8))
        #expect(String(decoding: named, as: UTF8.self) == #"{"channel":"a","named_user_id":"12"}"# + "\n")
        #expect(users.rejected.map(\.line) == [3], "an empty cell must not remove a user")
        for form in [CSVForm.tags, .users] {
            var lines = CSVLines(form)
            #expect(throws: CommandFailure.self) { try lines.feed(Array("channel,token\n".utf8)) }
        }
    }

    /// A list that counts how often it is read.
    private struct CountedLines: RandomAccessCollection {
        final class Reads { var count = 0 }
        var lines: [Int]
        let reads = Reads()
        var startIndex: Int { 0 }
        var endIndex: Int { lines.count }
        subscript(index: Int) -> Int {
            reads.count += 1
            return lines[index]
        }
    }

    /// Each line of a large file may be rejected, here and by the server.
    @Test func `a line is found without a walk through the rejected ones`() throws {
        for size in [1, 10, 100, 1_000, 10_000] {
            // Of three lines the second was left out, as the header was.
            let left = CountedLines(lines: [1] + (0..<size).map { 3 * $0 + 3 })
            #expect(CSVLines.skipped(left, before: 2 * size) == size + 1)
            #expect(left.reads.count <= 16, "\(size): \(left.reads.count)")
        }
        var lines = CSVLines()
        let text = "channel,token\na,0a\nb\nc,0c\n\n\nd\ne,0e\n"
        _ = try lines.feed(Array(text.utf8))
        #expect([1, 2, 3].map(lines.line) == [2, 4, 8])
    }

    @Test(arguments: ["a,b\n", "channel\n", "token,channel,colour\n"])
    func `a header without what is needed ends the import`(text: String) {
        var lines = CSVLines()
        #expect(throws: CommandFailure.self) { try lines.feed(Array(text.utf8)) }
    }
}
