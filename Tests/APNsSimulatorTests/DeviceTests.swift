import Testing

@testable import APNsSimulator

/// Tests what the device does with an accepted push, and what the record tells about it.
@Suite(.timeLimit(.minutes(5)))
struct DeviceTests {
    private let token = SimulatorFixture.token(9)

    @Test func `the newest timestamp is shown`() async throws {
        try await SimulatorFixture.run { fixture async throws in
            for (timestamp, state) in [(100, #"{"n": 1}"#), (300, #"{"n":3.0}"#), (200, #"{"n":2}"#)] {
                let payload = SimulatorFixture.update(1_763_700_000 + timestamp, state: state)
                #expect(try await fixture.push(token, payload: payload).status == 200)
            }
            let report = try #require(fixture.simulator.token(token))
            #expect(report.accepted == 3)
            #expect(report.timestamp == 1_763_700_300)
            #expect(report.contentState == #"{"n":3.0}"#)
            #expect(report.droppedByDevice == 1)
            #expect(report.outOfOrder == 1)
            #expect(report.duplicates == 0)
            #expect(report.history.map(\.timestamp) == [1_763_700_100, 1_763_700_300, 1_763_700_200])
            #expect(report.history.map(\.payload) == [0, 1, 2])
            let record = fixture.simulator.snapshot()
            #expect(record.droppedByDevice == 1)
            #expect(record.outOfOrder == 1)
            #expect(record.tokens == 1)
            #expect(record.acceptedTokens == 1)
        }
    }

    @Test func `nothing after the end`() async throws {
        try await SimulatorFixture.run { fixture async throws in
            for (timestamp, event) in [(1, "update"), (2, "end"), (3, "update"), (4, "end")] {
                let payload = SimulatorFixture.update(1_763_700_000 + timestamp, event: event)
                #expect(try await fixture.push(token, payload: payload).status == 200)
            }
            let report = try #require(fixture.simulator.token(token))
            #expect(report.afterEnd == 2)
            #expect(report.event == "end")
            #expect(report.timestamp == 1_763_700_002)
            #expect(fixture.simulator.snapshot().afterEnd == 2)
        }
    }

    @Test func `an end without a state leaves the card as it was`() async throws {
        try await SimulatorFixture.run { fixture async throws in
            let update = SimulatorFixture.update(1_763_700_001, state: #"{"n":7}"#)
            #expect(try await fixture.push(token, payload: update).status == 200)
            let end = #"{"aps":{"timestamp":1763700002,"event":"end","dismissal-date":1763700009}}"#
            #expect(try await fixture.push(token, payload: end).status == 200)
            let report = try #require(fixture.simulator.token(token))
            #expect(report.event == "end" && report.timestamp == 1_763_700_002)
            #expect(report.contentState == #"{"n":7}"#)
            #expect(report.history.map(\.dismissalDate) == [nil, 1_763_700_009])
        }
    }

    @Test func `the same payload twice is a duplicate`() async throws {
        try await SimulatorFixture.run { fixture async throws in
            for state in [1, 2, 1, 1] {
                let payload = SimulatorFixture.update(1_763_700_000, state: #"{"n":\#(state)}"#)
                #expect(try await fixture.push(token, payload: payload).status == 200)
            }
            #expect(fixture.simulator.token(token)?.duplicates == 2)
            #expect(fixture.simulator.snapshot().duplicates == 2)
            #expect(fixture.simulator.snapshot().outOfOrder == 0)
        }
    }

    static let ignored: [(payload: String, fault: String?)] = [
        ("{", "payload is not a JSON object"),
        ("[1]", "payload is not a JSON object"),
        (#"{"a":1}"#, "aps is missing or not an object"),
        (#"{"aps":[]}"#, "aps is missing or not an object"),
        (#"{"aps":{"event":"update","content-state":{}}}"#, "timestamp is missing or not a number"),
        (#"{"aps":{"timestamp":"5","event":"update","content-state":{}}}"#, "timestamp is missing or not a number"),
        (#"{"aps":{"timestamp":5,"event":"upd","content-state":{}}}"#, "event is not start, update or end"),
        (#"{"aps":{"timestamp":5,"event":"update"}}"#, "content-state is missing or not an object"),
        (#"{"aps":{"timestamp":5,"event":"update","content-state":[]}}"#, "content-state is missing or not an object"),
        (#"{"aps":{"timestamp":5,"event":"end","content-state":7}}"#, "content-state is missing or not an object"),
        (
            #"{"aps":{"timestamp":5,"event":"update","content-state":{},"stale-date":"x"}}"#,
            "stale-date is not a number"
        ),
        (
            #"{"aps":{"timestamp":5,"event":"start","content-state":{},"attributes":{},"alert":{}}}"#,
            "attributes-type is missing or not a string"
        ),
        (
            #"{"aps":{"timestamp":5,"event":"start","content-state":{},"attributes-type":"A","alert":{}}}"#,
            "attributes is missing or not an object"
        ),
        (
            #"{"aps":{"timestamp":5,"event":"start","content-state":{},"attributes-type":"A","attributes":{}}}"#,
            "alert is missing"
        ),
        (
            #"{"aps":{"timestamp":5,"event":"start","content-state":{},"attributes-type":"A","attributes":{},"alert":{},"input-push-token":2}}"#,
            "input-push-token is not 1"
        ),
        (
            #"{"aps":{"timestamp":5,"event":"start","content-state":{},"attributes-type":"A","attributes":{},"alert":{},"input-push-channel":"x"}}"#,
            "input-push-channel is not the id of a channel"
        ),
        (
            #"{"aps":{"timestamp":5,"event":"start","content-state":{},"attributes-type":"A","attributes":{},"alert":{},"input-push-token":1,"input-push-channel":"eA=="}}"#,
            "input-push-token and input-push-channel exclude each other"
        ),
        (#"{"aps":{"timestamp":5,"event":"end"}}"#, nil),
        (
            #"{"aps":{"timestamp":5,"event":"start","content-state":{},"attributes-type":"A","attributes":{},"alert":{"title":"t"}}}"#,
            nil
        ),
    ]

    /// APNs answers 200 to all of them.
    @Test func `what a device ignores`() async throws {
        try await SimulatorFixture.run { fixture async throws in
            for (index, test) in Self.ignored.enumerated() {
                let token = SimulatorFixture.token(index)
                #expect(try await fixture.push(token, payload: test.payload).status == 200)
                #expect(fixture.simulator.token(token)?.ignoredByDevice == (test.fault == nil ? 0 : 1))
                #expect((fixture.simulator.token(token)?.timestamp == nil) == (test.fault != nil), "\(test.payload)")
            }
            let record = fixture.simulator.snapshot()
            for fault in Set(Self.ignored.compactMap(\.fault)) {
                #expect(record.ignoredByDevice[fault] == Self.ignored.count { $0.fault == fault }, "\(fault)")
            }
            #expect(record.accepted == Self.ignored.count)
        }
    }

    /// Starts with one collapse id make one card. A token that starts activities belongs to no activity.
    @Test func `starts make cards and tokens are of one kind`() async throws {
        try await SimulatorFixture.run { fixture async throws in
            func start(_ input: String) -> String {
                #"{"aps":{"timestamp":5,"event":"start","content-state":{},"attributes-type":"A","attributes":{},"alert":{"title":"t"},\#(input)}}"#
            }
            let asking = start(#""input-push-token":1"#)
            for id in ["a", "a", "b"] {
                let headers = fixture.headers() + [("apns-collapse-id", id)]
                #expect(try await fixture.push(token, payload: asking, headers: headers).status == 200)
            }
            #expect(fixture.simulator.token(token)?.cards == 2)
            let onBroadcastChannel = start(#""input-push-channel":"eA==""#)
            #expect(try await fixture.push(token, payload: onBroadcastChannel).status == 200)
            let report = try #require(fixture.simulator.token(token))
            #expect(report.cards == 3 && report.event == "start")
            #expect(report.history.map(\.collapseID) == ["a", "a", "b", nil])
            #expect(report.history.map(\.inputChannel) == [nil, nil, nil, "eA=="])
            let headers = fixture.headers() + [("apns-collapse-id", String(repeating: "c", count: 65))]
            #expect(try await fixture.push(token, payload: asking, headers: headers).reason == "BadCollapseId")

            #expect(try await fixture.push(token, payload: SimulatorFixture.update(1_763_700_000)).status == 200)
            let other = SimulatorFixture.token(10)
            #expect(try await fixture.push(other, payload: SimulatorFixture.update(1_763_700_000)).status == 200)
            #expect(try await fixture.push(other, payload: asking).status == 200)
            #expect(
                fixture.simulator.snapshot().ignoredByDevice == [
                    "update for a push-to-start token": 1, "start for a token of an activity": 1,
                ])
            #expect(fixture.simulator.token(other)?.cards == nil)
            let line = try await fixture.control("GET", "/tokens/\(token)").text
            #expect(line.contains(#""cards":3"#) && line.contains(#""collapse_id":"b""#))
        }
    }

    /// Timestamps are whole seconds, so within a second only the publisher's own counter tells the order.
    @Test func `a counter tells the order within a second`() async throws {
        try await SimulatorFixture.run({ $0.orderMember = "n" }) { fixture async throws in
            for state in [#"{"n":4,"m":{"n":9}}"#, #"{"n":6}"#, #"{"n":5}"#, #"{"n":6}"#, #"{"n":"7"}"#] {
                #expect(
                    try await fixture.push(token, payload: SimulatorFixture.update(1_763_700_000, state: state)).status
                        == 200)
            }
            let report = try #require(fixture.simulator.token(token))
            #expect(report.newest == 6)
            #expect(report.backwards == 1)
            #expect(report.history.map(\.order) == [4, 6, 5, 6, nil])
            #expect(report.history.allSatisfy { $0.reached && $0.port > 0 })
            #expect(Set(report.history.map(\.port)).count == 5, "each push had a connection of its own")
            #expect(fixture.simulator.snapshot().backwards == 1)
            let lines = try await fixture.control("GET", "/tokens?history=1").text.split(separator: "\n")
            #expect(lines.count == 1)
            #expect(lines.first?.contains(#""newest":6,"backwards":1"#) == true)
            #expect(lines.first?.contains(#""order":5"#) == true)
        }
    }

    @Test func `answers that call a token dead are counted`() async throws {
        try await SimulatorFixture.run({ $0.orderMember = "n" }) { fixture async throws in
            var faults = Faults()
            faults.deadTokens = [DeadToken(prefix: token, reason: "BadDeviceToken")]
            try fixture.simulator.setFaults(faults)
            #expect(
                try await fixture.push(token, payload: SimulatorFixture.update(1, state: #"{"n":1}"#)).status == 400)
            faults.deadTokens = []
            faults.rejectAll = "TooManyRequests"
            try fixture.simulator.setFaults(faults)
            #expect(
                try await fixture.push(token, payload: SimulatorFixture.update(1, state: #"{"n":1}"#)).status == 429)
            let report = try #require(fixture.simulator.token(token))
            #expect(report.deadAnswers == 1)
            #expect(report.newest == nil, "none of it reached the device")
        }
    }

    @Test func `the history has a limit and fast mode keeps none`() async throws {
        try await SimulatorFixture.run({ $0.history = 2 }) { fixture async throws in
            for number in 0..<4 {
                _ = try await fixture.push(token, payload: SimulatorFixture.update(1_763_700_000 + number))
            }
            let report = try #require(fixture.simulator.token(token))
            #expect(report.requests == 4)
            #expect(report.history.map(\.timestamp) == [1_763_700_002, 1_763_700_003])
            fixture.simulator.reset()
            #expect(fixture.simulator.token(token) == nil)
            #expect(fixture.simulator.snapshot().requests == 0)
        }
        try await SimulatorFixture.run({ $0.fast = true }) { fixture async throws in
            #expect(try await fixture.push(token).status == 200)
            #expect(fixture.simulator.token(token) == nil)
            #expect(fixture.simulator.snapshot().accepted == 1)
        }
    }
}
