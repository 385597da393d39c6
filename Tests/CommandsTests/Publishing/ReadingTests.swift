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

@Suite("What is read")
struct ReadingTests {
    @Test(arguments: [
        ("all", #""all""#), ("tag:vip", #"{"tag":"vip"}"#), ("tag:team/a:b", #"{"tag":"a:b","group":"team"}"#),
        ("channel:x", #"{"channel":"x"}"#), ("user:jo\"", #"{"named_user":"jo\""}"#),
        (#"{"not":{"tag":"a"}}"#, #"{"not":{"tag":"a"}}"#),
    ])
    func `an audience in short`(text: String, json: String) throws {
        #expect(try PublishRequest.audience(text).text == json)
    }

    @Test func `a publish has the fields that were given, and the state as it was written`() async throws {
        let plain = try await PublishCommand.asyncParse(["match-1", "--content-state", #"{"a": 1.0, "a": 2}"#])
        let activity = #"{"name":"match-1","event":"update","content_state":{"a": 1.0, "a": 2}}"#
        let start = #"{"audience":"all","device_types":["ios"],"notification":{"ios":{"live_activity":"#
        #expect(try PublishRequest(options: plain).json(now: 0).text == "\(start)\(activity)}}}")
        let end = try await PublishCommand.asyncParse(["match-1", "--event", "end", "--expiry", "+10m", "--insist"])
        #expect(
            try PublishRequest(options: end).json(now: 0).text
                == start + #"{"name":"match-1","event":"end"}}},"options":{"expiry":600,"insist":true}}"#)
    }

    @Test(arguments: [
        #""ios":{"live_activity":{"name":"match-1","event":"end"}}"#,
        #""android":{"live_update":{"name":"match-1","event":"end"}}"#,
    ])
    func `a schedule is shown with its name and event`(part: String) throws {
        let answer =
            #"{"url":"u","schedule":{"scheduled_time":"2026-11-21T18:00:00"},"name":null,"push":{"audience":"all","device_types":"all","notification":{\#(part)}},"push_ids":["0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10"],"state":"scheduled"}"#
        let schedule = try ScheduleAnswer(answer: Array(answer.utf8))
        let show = try ScheduleCommand.Show.parse(["0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10"])
        let lines = show.lines(schedule).joined(separator: "\n")
        #expect(lines.contains("match-1") && lines.contains("end"), "\(lines)")
    }

    @Test(arguments: ["none", "any", "0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10"])
    func `a publish may name the push that it comes after`(after: String) async throws {
        let publish = try await PublishCommand.asyncParse(["match-1", "--event", "end", "--after", after])
        let text = try PublishRequest(options: publish).json(now: 0).text
        #expect(text.hasSuffix(#","options":{"after":"\#(after)"}}"#), "\(text)")
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

    @Test(arguments: [
        // It is 23:30 in Berlin, and the day after that the clocks are put back.
        ("today 23:45", "2026-10-24T21:45:00Z"), ("tomorrow 01:30", "2026-10-24T23:30:00Z"),
        ("Tomorrow 20:00", "2026-10-25T19:00:00Z"),
    ])
    func `a day may be named`(text: String, time: String) throws {
        let now = try ScheduleTime.parse("2026-10-24T21:30Z", now: 0).seconds
        #expect(try ScheduleTime.parse(text, now: now, zone: zone("Europe/Berlin")).text == time)
        #expect(throws: ScheduleTimeError.self) {
            try ScheduleTime.parse("tomorrow 02:30", now: now, zone: zone("Europe/Berlin"))
        }
        #expect(throws: ScheduleTimeError.unreadable) { try ScheduleTime.parse("yesterday 20:00", now: now) }
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
        #expect(totals.byOutcome(.claims) == [:])
    }
}
