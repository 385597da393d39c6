import Answers
import Foundation
import LiveActivity
import Logging
import StrictJSON
import Testing

@testable import Commands

@Suite("What is printed")
struct PrintingTests {
    private let time = Int64(1_795_276_923_007)

    @Test func `a line of text has its fields in order, quoted where needed`() {
        let line = LogLine(
            time: time, level: .notice, label: "worker", message: "ready",
            metadata: [("apps", "shop"), ("empty", ""), ("words", "a b=c")])
        #expect(
            line.rendered(.text) == #"2026-11-21T16:02:03.007Z notice worker: ready apps=shop empty="" words="a b=c""#)
    }

    @Test func `a line of JSON keeps its own fields, and numbers as numbers`() {
        let line = LogLine(
            time: time, level: .error, label: "worker", message: "say \"no\"",
            metadata: [("count", .stringConvertible(7)), ("level", "forged"), ("list", ["a", ["b": "c"]])])
        #expect(
            line.rendered(.json)
                == #"{"time":"2026-11-21T16:02:03.007Z","level":"error","logger":"worker","message":"say \"no\"","#
                + #""count":7,"_level":"forged","list":["a",{"b":"c"}]}"#)
    }

    @Test func `a line for the Elastic Common Schema has its names, and numbers where it wants numbers`() {
        let line = LogLine(
            time: time, level: .info, label: "gateway", message: "request",
            metadata: [("app", "shop"), ("ms", "12"), ("operation", "510d8af0"), ("status", "200")])
        #expect(
            line.rendered(.ecs)
                == #"{"@timestamp":"2026-11-21T16:02:03.007Z","log.level":"info","message":"request","#
                + #""ecs.version":"8.11.0","service.name":"lamplighter","log.logger":"gateway","#
                + #""lamplighter.app":"shop","event.duration":12000000,"http.request.id":"510d8af0","#
                + #""http.response.status_code":200}"#)
    }

    @Test(arguments: [
        ("192.0.2.1", "client.ip"), ("2001:db8::1", "client.ip"), ("::ffff:192.0.2.1", "client.ip"),
        ("2001:db8:0:0::/64", "client.address"), ("local", "client.address"),
    ])
    func `only an address is the Elastic Common Schema's client_ip`(address: String, field: String) {
        let line = LogLine(
            time: time, level: .info, label: "gateway", message: "console", metadata: [("address", "\(address)")])
        #expect(line.rendered(.ecs).hasSuffix("\"\(field)\":\"\(address)\"}"))
    }

    @Test(arguments: [LogFormat.text, .json, .ecs])
    func `what a client sent cannot begin a line of its own, in either form`(format: LogFormat) {
        let line = LogLine(
            time: time, level: .info, label: "x", message: "a\nb\u{1B}[31m", metadata: [("k\n", "v\r\u{85}w")])
        let isObeyed = line.rendered(format).unicodeScalars.contains { $0.isHidden }
        #expect(!isObeyed)
    }

    @Test(arguments: [(0, "0"), (999, "999"), (1_000, "1,000"), (-1_234_567, "-1,234,567")])
    func `numbers are grouped`(number: Int, text: String) { #expect(Terminal.grouped(number) == text) }

    private func ledger(_ fields: String) throws -> [String] {
        let counts = ["targets", "delivered", "pruned", "failed", "superseded", "expired", "skipped", "pending"]
            .map { #""\#($0)":0,"# }.joined()
        let text =
            #"{"push_id":"p","name":"n","event":"update","priority":10,\#(counts)\#(fields),"#
            + #""retries":0,"duplicates_possible":0,"created_at":"2026-11-21T18:00:00.000Z"}"#
        return try LedgerAnswer(answer: Array(text.utf8)).lines
    }

    @Test func `a ledger that no worker has written has no zeros`() throws {
        let lines = try ledger(#""state":"queued","expanded":false"#)
        #expect(lines.last?.split(separator: " ") == ["targets", "not", "read", "yet"])
    }

    @Test func `a ledger shows receipts where there are any`() throws {
        let done = #""state":"done","expanded":true"#
        #expect(try !ledger(done).contains { $0.contains("receipts") })
        let shown = try ledger(done + #","shown":1200,"dismissed":3"#).filter { $0.contains("receipts") }
        #expect(
            shown.map { $0.split(separator: " ").joined(separator: " ") } == [
                "receipts: shown 1,200", "receipts: dismissed 3",
            ])
    }

    @Test func `columns are aligned`() {
        var table = Table([.text(), .number()])
        table.add("targets", "20,000")
        table.add("pruned", "5")
        #expect(table.lines == ["targets  20,000", "pruned        5"])
    }

    /// Times of this year are shown without it.
    private let thisYear = String(TimeText.text(wallClock()).prefix(4))

    private func history(_ width: Int?, name: String = "match-42") -> [String] {
        let at = "\(thisYear)-11-21T18:00:07.123Z"
        return Table.list(
            [(at, "0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10", name)], width: width,
            .time("AT", \.0), .id("PUSH", \.1), .text("NAME", \.2), .text("EMPTY") { _ in "" },
            .text("EVENT", rank: 2) { _ in "update" }, .right("TARGETS", rank: 1) { _ in "20,000" },
            .right("DELIVERED") { _ in "19,695" })
    }

    @Test func `a list that is too wide has shorter times, then fewer columns, then shorter texts`() {
        let id = "0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10"
        let whole = "\(thisYear)-11-21T18:00:07.123Z"
        #expect(history(nil)[1] == "\(whole)  \(id)  match-42         update   20,000     19,695")
        #expect(history(101)[1] == "\(whole)  \(id)  match-42  update   20,000     19,695")
        #expect(history(91)[1] == "11-21 18:00:07  \(id)  match-42  update   20,000     19,695")
        #expect(history(88)[1] == "11-21 18:00  \(id)  match-42  update   20,000     19,695")
        let narrow = history(80)
        #expect(narrow[0] == "AT           PUSH                                  NAME      TARGETS  DELIVERED")
        #expect(narrow[1] == "11-21 18:00  \(id)  match-42   20,000     19,695")
        #expect(narrow[2] == "not shown: EVENT (--json, or a wider terminal)")
        let long = history(80, name: String(repeating: "決勝", count: 60))
        #expect(long[1] == "11-21 18:00  \(id)  決勝決勝決勝決勝…      19,695", "\(long)")
        #expect(history(30)[1] == "11-21 18:00  0b7c6f0e-0f5e-4c…")
    }

    @Test func `a time of another year has its year`() {
        var table = Table([.text(), Table.Column(kind: .time)])
        table.rows = [["feed", "2027-02-19T18:00:07.123Z"], ["desk", ""], ["old", "once"]]
        #expect(table.fitted(to: 20, year: "2026").lines == ["feed  2027-02-19", "desk  ", "old   once"])
    }

    @Test func `a list has a heading and its rows, and says what it does not show`() {
        func list(_ entries: [(name: String, tokens: Int)], isShort: Bool = false) -> [String] {
            Table.list(
                entries, nothing: "no names", total: 1_234, words: "names in all", next: "b", .text("NAME", \.name),
                isShort ? nil : .count("TOKENS", \.tokens))
        }
        let entries = [("a", 12_345), ("bb\u{202E}", 7)]
        #expect(
            list(entries) == [
                "NAME      TOKENS", "a         12,345", "bb\\u202e       7", "1,234 names in all", "more: --after b",
            ])
        #expect(list([("a", 1)], isShort: true).first == "NAME" && list([]) == ["no names"])
        #expect(Table.list(["a"], total: 1, .text("", \.self)) == ["a"], "nothing is left to say")
    }
}
