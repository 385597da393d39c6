import Answers
import ArgumentParser
import Fanout
import Foundation
import LiveActivity
import Logging
import PrometheusText
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
        var table = Table(.left, .right)
        table.add("targets", "20,000")
        table.add("pruned", "5")
        #expect(table.lines == ["targets  20,000", "pruned        5"])
    }
}

@Suite("What is read")
struct ReadingTests {
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

    @Test(arguments: ["a,b\n", "channel\n", "token,channel,colour\n"])
    func `a header without what is needed ends the import`(text: String) {
        var lines = CSVLines()
        #expect(throws: CommandFailure.self) { try lines.feed(Array(text.utf8)) }
    }

    @Test(arguments: [
        ("all", #""all""#), ("tag:vip", #"{"tag":"vip"}"#), ("tag:team/a:b", #"{"tag":"a:b","group":"team"}"#),
        ("channel:x", #"{"ios_channel":"x"}"#), ("user:jo\"", #"{"named_user":"jo\""}"#),
        (#"{"not":{"tag":"a"}}"#, #"{"not":{"tag":"a"}}"#),
    ])
    func `an audience in short`(text: String, json: String) throws {
        #expect(try PublishRequest.audience(text).text == json)
    }

    @Test func `a publish has the fields that were given, and the state as it was written`() throws {
        let plain = try PublishCommand.parse(["match-1", "--content-state", #"{"a": 1.0, "a": 2}"#])
        let activity = #"{"name":"match-1","event":"update","content_state":{"a": 1.0, "a": 2}}"#
        let start = #"{"audience":"all","device_types":["ios"],"notification":{"ios":{"live_activity":"#
        #expect(try PublishRequest(options: plain).json(now: 0).text == "\(start)\(activity)}}}")
        let end = try PublishCommand.parse(["match-1", "--event", "end", "--expiry", "+10m", "--insist"])
        #expect(
            try PublishRequest(options: end).json(now: 0).text
                == start + #"{"name":"match-1","event":"end"}}},"options":{"expiry":600,"insist":true}}"#)
    }

    @Test(arguments: [("+90", 1_090), ("+2m", 1_120), ("+1h", 4_600), ("77", 77), ("now", 1_000)])
    func `times from now and epoch seconds`(text: String, seconds: Int) throws {
        #expect(try PublishRequest.time(text, "--stale-date", now: 1_000) == seconds)
    }

    @Test(arguments: ["", "soon", "+", "+m", "-5", "+1w", "1.5"])
    func `what is no time is refused`(text: String) {
        #expect(throws: (any Error).self) { try PublishRequest.time(text, "--stale-date", now: 1_000) }
    }

    private func zone(_ name: String) throws -> LocalZone {
        let zone = try #require(TimeZone(identifier: name))
        return LocalZone(name: name) { zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double($0))) }
    }

    @Test func `the machine's own zone is named`() { #expect(!LocalZone.current.name.isEmpty) }

    @Test(arguments: [
        ("+10m", 1_600), ("1795284000", 1_795_284_000), ("2026-11-21T18:00Z", 1_795_284_000),
        ("2026-11-21 19:00:00+01:00", 1_795_284_000), ("2026-11-21T10:00-0800", 1_795_284_000),
        // Berlin is one hour ahead of UTC in winter, and two in summer.
        ("2026-11-21T19:00", 1_795_284_000), ("2026-07-01T02:00:30", 1_782_864_030),
    ])
    func `a time to publish at: with a zone, in the machine's own, or from now`(text: String, seconds: Int) throws {
        let time = try ScheduleTime.parse(text, now: 1_000, zone: try zone("Europe/Berlin"))
        #expect(time.seconds == seconds)
    }

    @Test(arguments: [
        ("2026-03-29T02:30", "Europe/Berlin", ScheduleTimeError.skipped("Europe/Berlin")),
        ("2026-10-25T02:30", "Europe/Berlin", .twice("Europe/Berlin")),
        ("2026-04-05T01:45", "Australia/Lord_Howe", .twice("Australia/Lord_Howe")),
        ("2026-02-30T12:00", "Europe/Berlin", .unreadable), ("2026-11-21", "Europe/Berlin", .unreadable),
        ("25:00", "Europe/Berlin", .unreadable), ("", "Europe/Berlin", .unreadable),
        ("2026-11-21T18:00 CET", "Europe/Berlin", .unreadable),
        // Milliseconds of it would overflow.
        ("9223372036854775807", "Europe/Berlin", .unreadable), ("100000000001", "Europe/Berlin", .unreadable),
    ])
    func `a time that the clocks skip or show twice is refused, unless its offset is given`(
        text: String, zone: String, problem: ScheduleTimeError
    ) throws {
        let zone = try self.zone(zone)
        #expect(throws: problem) { try ScheduleTime.parse(text, now: 0, zone: zone) }
    }

    @Test func `with an offset, both of the hours that the clocks show twice can be meant`() throws {
        let (summer, winter) = (
            try ScheduleTime.parse("2026-10-25T02:30+02:00", now: 0),
            try ScheduleTime.parse("2026-10-25T02:30+01:00", now: 0)
        )
        #expect(winter.seconds - summer.seconds == 3_600)
        #expect(summer.text == "2026-10-25T00:30:00Z")
    }

    @Test func `a name is one segment of a path, whatever it holds`() {
        let path: GatewayPath = "/api/dead/\("a/b ü%.-_~")"
        #expect(path.text == "/api/dead/a%2Fb%20%C3%BC%25.-_~")
    }

    @Test func `a worker's counts are summed over its apps`() {
        let registry = PrometheusRegistry()
        for (app, outcome, count) in [("a", "delivered", 7), ("b", "delivered", 5), ("b", "expired", 1)] {
            registry.set(
                counter: "lamplighter_tokens_total", dimensions: [("app", app), ("outcome", outcome)],
                to: Double(count))
        }
        let totals = WorkerTotals(registry: registry, logger: Logger(label: "test"))
        #expect(totals.byOutcome(.tokens) == ["delivered": 12, "expired": 1])
        #expect(totals.byOutcome(.broadcasts) == [:])
    }
}

@Suite("What is said of a Redis")
struct RedisFindingsTests {
    static let safe = [
        "appendonly": "yes", "appendfsync": "always", "maxmemory": "0", "maxmemory-policy": "noeviction",
        "hash-max-listpack-value": "128", "hash-max-listpack-entries": "512",
    ]

    private func findings(_ change: [String: String] = [:], info: [String: String] = [:]) -> RedisFindings {
        RedisFindings(
            info: ["redis_version": "7.0.15"].merging(info) { _, own in own },
            configuration: Self.safe.merging(change) { _, own in own })
    }

    @Test func `config/redis.conf leaves nothing to say`() {
        #expect(findings().all.allSatisfy { $0.mark == .good && $0.remedy == nil })
        #expect(findings().losses.isEmpty)
    }

    @Test(arguments: [
        ["appendonly": "no"], ["appendfsync": "everysec"], ["appendfsync": "no"],
        ["maxmemory-policy": "allkeys-lru"],
    ])
    func `each way to lose data is a warning with a remedy`(change: [String: String]) {
        let losses = findings(change).losses
        #expect(losses.count == 1)
        #expect(losses.first?.mark == .warning && losses.first?.remedy?.contains("CONFIG SET") == true)
    }

    @Test func `a primary that takes writes without its replicas is a warning where replicas may replace it`() {
        let (alone, waits) = (["min-replicas-to-write": "0"], ["min-replicas-to-write": "1"])
        #expect(findings(alone, info: ["connected_slaves": "0"]).losses.isEmpty)
        var watched = findings(alone)
        watched.usesSentinels = true
        for found in [watched, findings(alone, info: ["connected_slaves": "1"])] {
            #expect(found.losses.map(\.subject) == ["Redis replicas"])
            #expect(found.losses.first?.text.contains("registrations") == true)
        }
        watched = findings(waits)
        watched.usesSentinels = true
        #expect(watched.losses.isEmpty && watched.replicas?.mark == .good)
        #expect(findings(alone, info: ["connected_slaves": "1", "cluster_enabled": "1"]).replicas == nil)
    }

    @Test func `small listpacks cost memory but lose nothing`() {
        let found = findings(["hash-max-listpack-value": "64"])
        #expect(found.losses.isEmpty && found.encoding?.mark == .warning)
    }

    @Test(arguments: [
        (["redis_version": "6.0.16"], Commands.ExitStatus.configuration), (["role": "slave"], .configuration),
        (["aof_last_write_status": "err"], .failed),
    ])
    func `versions before 6.2, replicas and failing disks are wrong`(
        info: [String: String], status: Commands.ExitStatus
    ) {
        let bad = findings(info: info).all.filter { $0.mark == .bad }
        #expect(bad.map(\.status) == [status] && bad.first?.remedy != nil)
    }

    @Test func `of several servers what they say alike is said once, else with the server's name`() {
        var servers = [findings(), findings(["appendfsync": "everysec"]), findings()]
        for (index, name) in ["a:1", "b:2", "c:3"].enumerated() { servers[index].node = name }
        let all = servers.merged(\.all)
        #expect(all.count { $0.subject == "Redis version" } == 1)
        #expect(all.count { $0.mark == .warning } == 1)
        #expect(servers.merged(\.losses).first?.text.hasPrefix("b:2: appendfsync everysec") == true)
        #expect(servers.merged(\.losses).count == 1)
        var alone = findings(info: ["cluster_enabled": "1", "connected_slaves": "0"])
        #expect([alone].merged(\.all).first { $0.mark == .warning }?.remedy?.contains("redis+cluster://") == true)
        alone.node = "a:1"
        #expect([alone].merged(\.all).first { $0.mark == .warning }?.subject == "Redis replicas")
    }

    @Test func `a service that hides its configuration is not called safe`() {
        let found = RedisFindings(info: ["redis_version": "7.2.0"], configuration: [:])
        #expect(found.losses.map(\.subject) == ["Redis durability", "Redis memory"])
        for policy in [[:], ["maxmemory_policy": ""]] as [[String: String]] {
            let memory = RedisFindings(info: policy, configuration: [:]).memory
            #expect(memory?.text.contains("does not tell its policy") == true)
        }
        #expect(RedisFindings(info: [:], configuration: [:]).version.mark == .warning)
    }

    @Test func `limits of a hosted service are named, also if it shows no configuration`() {
        let found = RedisFindings(
            info: [
                "redis_version": "7.2.0", "aof_enabled": "0", "maxmemory_policy": "volatile-lru",
                "maxmemory": "\(100 << 20)", "used_memory": "\(95 << 20)", "maxclients": "100",
                "connected_clients": "90",
            ], configuration: [:])
        let texts = found.losses.map(\.text)
        #expect(texts.count == 4 && found.losses.allSatisfy { $0.remedy?.contains("CONFIG SET") != true })
        for word in ["no append-only file", "volatile-lru", "95 of 100 MB", "90 of 100 connections"] {
            #expect(texts.contains { $0.contains(word) }, "\(word)")
        }
        let full = findings(info: ["maxmemory": "\(100 << 20)", "used_memory": "\(100 << 20)"]).limits
        #expect(full.map(\.mark) == [.bad] && full[0].text.contains("(100 %)"))
        #expect(findings(["timeout": "0"]).limits.isEmpty && findings(["timeout": "300"]).limits.isEmpty)
        #expect(findings(["timeout": "5"]).limits.map(\.mark) == [.warning])
    }
}
